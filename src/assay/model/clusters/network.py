"""A network between the nodes of a cluster, and the kind of a network whose cluster file does not state it."""

from dataclasses import dataclass, field
from enum import StrEnum


class NetworkKind(StrEnum):
    """Kinds of networks; the question about faster networks compares them."""

    ETHERNET = "ethernet"
    INFINIBAND = "infiniband"


NETWORK_CODES = {"ETH": NetworkKind.ETHERNET, "IB": NetworkKind.INFINIBAND}
"""Short names of networks, as in ALOJA's results."""
_BEGINNINGS = {**NETWORK_CODES, "INFINIBAND": NetworkKind.INFINIBAND}
"""Beginnings of the names of networks of a known kind, in capitals."""


def network_kind_of_name(name: str) -> NetworkKind | None:
    """Return the kind of a network by its name (``IB``, ``ETH10``, ``infiniband-fdr``), or None.

    Only for runs without a recorded kind, such as imported ones.
    """
    return next((kind for text, kind in _BEGINNINGS.items() if name.upper().startswith(text)), None)


@dataclass(frozen=True, slots=True)
class Network:
    """One of several networks between the same nodes, which a plan chooses by name."""

    name: str
    rate_bits_per_s: float
    addresses: dict[str, str] = field(default_factory=dict)
    """Node name to address in this network; empty: the nodes' usual addresses."""
    kind: NetworkKind | None = None
    """None: not stated; then :func:`network_kind_of_name` applies."""
