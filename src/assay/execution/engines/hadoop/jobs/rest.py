"""Send HTTP requests to a daemon through the transport of a node, so that this machine needs no route to the cluster.

Requests to secured daemons, and over HTTPS, are sent by that node itself:
:mod:`assay.execution.engines.hadoop.jobs.access`.
"""

import asyncio
import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any, Final

from assay.execution.engines.hadoop.jobs.access import ASK_TIMEOUT_S, HttpAccess
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError

PLAIN: Final = HttpAccess()
_ERROR_STATUS_MIN = 400
"""Lowest HTTP status that is an error."""


class HttpStatusError(EngineError):
    """A daemon answered with an HTTP status that is an error."""

    def __init__(self, status: int, body: bytes, where: str) -> None:
        super().__init__(f"HTTP {status}: {_reason(body)}", where=where)
        self.status = status


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A daemon's HTTP address, as seen from the node of ``transport``."""

    transport: Transport
    host: str
    port: int
    access: HttpAccess = PLAIN
    tls: bool = False

    async def request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the answer's body.

        Raises HttpStatusError, with Hadoop's reason, for a status of 400 or more, and EngineError if nothing listens or
        the answer is late.
        """
        where = f"{self.host}:{self.port}{path.split('?')[0]}"
        if self.tls or self.access.is_secured:
            secured_url = f"{'https' if self.tls else 'http'}://{self.host}:{self.port}{path}"
            status, answer_body = await self.access.ask(self.transport, method, secured_url, body, where)
            if status >= _ERROR_STATUS_MIN:
                raise HttpStatusError(status, answer_body, where)
            return answer_body
        address, port = await self.transport.forward(self.host, self.port)
        url = f"http://{address}:{port}{path}"

        def call() -> bytes:
            headers = {"Content-Type": "application/octet-stream"} if body is not None else {}
            request = urllib.request.Request(url, data=body, method=method, headers=headers)
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            try:
                with opener.open(request, timeout=ASK_TIMEOUT_S) as answer:
                    content: bytes = answer.read()
            except urllib.error.HTTPError as error:  # the body is read here, because that needs the event loop
                raise HttpStatusError(error.code, error.read(), where) from error
            return content

        try:
            return await asyncio.to_thread(call)
        except (OSError, http.client.HTTPException) as error:
            raise EngineError(f"no answer: {error}", where=where) from error

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON object at ``path``; another JSON value is its ``value``.

        Raises EngineError if the answer is not JSON.
        """
        content = await self.request("GET", path)
        try:
            value = json.loads(content)
        except ValueError as error:
            raise EngineError("the answer is not JSON", where=f"{self.host}:{self.port}{path.split('?')[0]}") from error
        return value if isinstance(value, dict) else {"value": value}

    async def bean(self, query: str) -> dict[str, Any]:
        """Return one JMX bean of a daemon."""
        beans = (await self.get(f"/jmx?qry={query}")).get("beans") or [{}]
        return dict(beans[0])


def _reason(content: bytes) -> str:
    try:
        return str(json.loads(content)["RemoteException"]["message"]).splitlines()[0]
    except (ValueError, KeyError, TypeError, IndexError):
        return content[:200].decode(errors="replace")
