"""Access a secured cluster: with a Kerberos ticket on the edge node, and by HTTPS with its certificate authorities.

In: the login of the cluster file. Out: an :class:`HttpAccess`, which asks daemons with the edge node's curl
(``--negotiate``, ``--cacert``), so that tickets, keys and authorities stay on that node, and assay's machine needs
neither a Kerberos library nor a route to the KDC. A keytab gives a separate ticket cache below ``home``, which is
destroyed when the campaign ends. Addresses, which may hold delegation tokens, are passed by stdin, so they appear in no
command line and in no error.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError, HostError
from assay.model import KerberosLogin

ASK_TIMEOUT_S = 20.0
"""Maximum time that curl waits for a daemon's answer, in seconds."""
_COMMAND_TIMEOUT_S = 60.0
"""Maximum time of a command on the edge node, in seconds."""
_EXIT_NO_COMMAND = 127
"""Exit status of a shell for a command that does not exist."""
_UNAUTHORISED = 401
"""HTTP status of a request without valid credentials."""
_UNTRUSTED = (35, 51, 60, 77)
"""curl(1): the handshake failed, the certificate is for another name, it is not trusted, the CA file can't be read."""
_CACHE = "ticket"
# The address is the first line of stdin, the request body follows; $1 says whether a body follows. Only the user can
# read the temporary file.
_ASK = """
IFS= read -r url
sends=$1; shift
if [ "$sends" = yes ]; then
  umask 077
  body=$(mktemp) || exit 2
  trap 'rm -f "$body"' EXIT
  cat > "$body"
  printf 'url = "%s"\\n' "$url" | curl "$@" --data-binary "@$body" --config -
else
  printf 'url = "%s"\\n' "$url" | curl "$@" --config -
fi
"""


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """Access to the daemons' HTTP servers. Used only with Kerberos or HTTPS."""

    is_secured: bool = False
    """Whether a ticket is needed (SPNEGO)."""
    authorities: str | None = None
    """The file on the edge node with the authorities of the daemons' certificates; None: the system's authorities."""
    login: KerberosLogin = field(default_factory=KerberosLogin)
    home: str = ""
    """assay's folder on the edge node, which holds the ticket from a keytab."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables with which the client, curl and klist find the ticket."""
        if not self.is_secured:
            return {}
        if self.login.keytab:
            return {"KRB5CCNAME": f"FILE:{self.home}/{_CACHE}"}
        return {"KRB5CCNAME": self.login.cache} if self.login.cache else {}

    async def enter(self, edge: Transport) -> str | None:
        """Check that there is a valid ticket, and return its user; None without Kerberos.

        A keytab gives a new ticket each time. Raises EngineError if the ticket is missing or invalid.
        """
        if not self.is_secured:
            return None
        if self.login.keytab:
            await self._get_ticket_from_keytab(edge)
        klist_result = await _run_command(edge, ["klist"], self.environment)
        if klist_result is None:
            message = f"Hadoop is secured by Kerberos, but {edge.name} has no klist"
            raise EngineError(message, where=edge.name, hint="install Kerberos' user programs there (krb5-user)")
        status, text = klist_result
        if status != 0:
            raise self._no_ticket(edge, text)
        principal = re.search(r"^Default principal: (\S+)", text, re.MULTILINE) or re.search(r"Principal: (\S+)", text)
        validity_result = await _run_command(edge, ["klist", "-s"], self.environment)
        if principal is None or validity_result is None or validity_result[0] != 0:
            raise self._expired(edge, text)
        return re.split(r"[/@]", principal[1])[0]

    async def _get_ticket_from_keytab(self, edge: Transport) -> None:
        login = self.login
        command = ["kinit", "-k", "-t", str(login.keytab), str(login.principal)]
        result = await _run_command(edge, command, self.environment)
        if result is None or result[0] != 0:
            message = result[1] if result else "there is no kinit on this host"
            raise EngineError(
                f"no ticket could be obtained with the keytab: {_first_line(message)}",
                where=f"{edge.name}: {login.keytab}",
                hint="`klist -k` on that host lists the keytab's principals; `attached: kerberos` names both",
            )

    def _no_ticket(self, edge: Transport, text: str) -> EngineError:
        hint = "run kinit there as the user who logs in, or name a keytab: attached: {kerberos: {principal, keytab}}"
        message = f"Hadoop is secured by Kerberos, but the user has no ticket: {_first_line(text)}"
        return EngineError(message, where=f"{edge.name}: klist", hint=hint)

    def _expired(self, edge: Transport, text: str) -> EngineError:
        expiry = re.search(r"^\S+ \S+\s+(\S+ \S+)\s+krbtgt/", text, re.MULTILINE)
        message = f"the Kerberos ticket has expired{f' ({expiry[1]})' if expiry else ''}"
        hint = "run kinit there again, or name a keytab, from which assay makes a new one for each run"
        return EngineError(message, where=f"{edge.name}: klist", hint=hint)

    async def leave(self, edge: Transport) -> None:
        """Destroy the ticket from the keytab."""
        if self.is_secured and self.login.keytab:
            await _run_command(edge, ["kdestroy", "-q"], self.environment)

    async def ask(self, edge: Transport, method: str, url: str, body: bytes | None, where: str) -> tuple[int, bytes]:
        """Return status and content of a daemon's answer. Raises EngineError if the daemon does not answer."""
        if re.search(r'["\\\s]', url):
            raise EngineError("the address contains invalid characters", where=where)
        options = ["-q", "--silent", "--show-error", "--globoff", "--noproxy", "*", "--max-time", f"{ASK_TIMEOUT_S:g}"]
        options += ["--negotiate", "--user", ":"] if self.is_secured else []
        options += ["--cacert", self.authorities] if self.authorities and url.startswith("https") else []
        options += ["--request", method, "--header", "Content-Type: application/octet-stream"]
        options += ["--write-out", "\\n%{http_code}"]
        command = ["sh", "-c", _ASK, "sh", "no" if body is None else "yes", *options]
        content = url.encode() + b"\n" + (body or b"")
        result = await edge.run(command, timeout_s=_COMMAND_TIMEOUT_S, stdin=content, check=False, env=self.environment)
        if result.exit_status != 0:
            raise self._curl_error(edge, result.exit_status, _first_line(result.stderr.decode(errors="replace")), where)
        answer, _, status = result.stdout.rpartition(b"\n")
        if int(status) == _UNAUTHORISED and self.is_secured:
            await self.enter(edge)
            raise EngineError(
                "HTTP 401: the daemon does not accept the ticket",
                where=where,
                hint=f"`curl --negotiate -u : ADDRESS` must work on {edge.name}, with the ticket of `klist`",
            )
        return int(status), answer

    def _curl_error(self, edge: Transport, status: int, message: str, where: str) -> EngineError:
        """Return the error for curl's exit status."""
        if status == _EXIT_NO_COMMAND:
            protocol = "Kerberos" if self.is_secured else "HTTPS"
            return EngineError(f"{edge.name} has no curl, which assay needs for daemons behind {protocol}", where=where)
        if status in _UNTRUSTED:
            hint = "set attached: authorities in the cluster file to the file there with the authority's certificate"
            return EngineError(f"its certificate is not trusted: {message}", where=where, hint=hint)
        return EngineError(f"no answer: {message or f'curl ended with {status}'}", where=where)


def of(*, is_secured: bool, authorities: str | None, login: KerberosLogin | None, home: str) -> HttpAccess:
    """Return the access for a cluster file's login."""
    return replace(HttpAccess(is_secured, authorities, home=home), login=login or KerberosLogin())


async def _run_command(edge: Transport, command: list[str], env: Mapping[str, str]) -> tuple[int, str] | None:
    """Return a command's status and output, in English; None if the program is missing."""
    try:
        result = await edge.run(command, timeout_s=_COMMAND_TIMEOUT_S, check=False, env={**env, "LC_ALL": "C"})
    except HostError as error:
        return 1, error.message
    if result.exit_status == _EXIT_NO_COMMAND:
        return None
    return result.exit_status, (result.stdout + result.stderr).decode(errors="replace")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no output")[:200]
