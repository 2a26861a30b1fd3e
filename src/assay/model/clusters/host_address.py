"""Parse a host of a command line, an inventory or a jump host: ``user@host:port``.

User and port are optional. An IPv6 address with a port is in brackets, as in RFC 3986: ``[2001:db8::1]:22``.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

PORT_MAX: Final = 65_535
_BRACKETS: Final = re.compile(r"\[(?P<host>[^\[\]]*)\](?::(?P<port>.*))?")
_NAME: Final = re.compile(r"[^\s\[\]@:/]+")
_ADDRESS_SYNTAX: Final = "write host, user@host:port, or user@[IPv6 address]:port"


@dataclass(frozen=True, slots=True)
class HostAddress:
    """A host and its login; None: not specified."""

    host: str
    user: str | None = None
    port: int | None = None


def parse_host_address(text: str) -> HostAddress:
    """Return the parts of ``user@host:port``. Raises ValueError with the accepted forms."""
    user, at, host_and_port = text.rpartition("@")
    port: str | None
    if match := _BRACKETS.fullmatch(host_and_port):
        host, port = match["host"], match["port"]
        is_host = _is_ipv6(host)
    elif host_and_port.count(":") > 1:
        host, port = host_and_port, None
        is_host = _is_ipv6(host)
    else:
        host, colon, number = host_and_port.partition(":")
        port = number if colon else None
        is_host = _NAME.fullmatch(host) is not None
    if not is_host or (at and not _NAME.fullmatch(user)):
        raise ValueError(f"{text!r} is not a host: {_ADDRESS_SYNTAX}")
    return HostAddress(host, user or None, parse_port(port) if port is not None else None)


def parse_port(text: str) -> int:
    """Return a TCP port. Raises ValueError with the accepted range."""
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= PORT_MAX:
        raise ValueError(f"{text[:20]!r} is not a port: it must be from 1 to {PORT_MAX}")
    return int(text)


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
