"""Survey many hosts concurrently, for descriptions and checks, with a time limit per host.

In: names with addresses, or open transports. Out: a :class:`~assay.model.clusters.survey.Survey` for each reachable
host, and the error for each other host. Nothing is written on a host.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import msgspec

from assay.execution.hosts import LocalTransport, Transport, connect_ssh
from assay.execution.hosts.clock import clock_offset
from assay.execution.observation.scripts import run_script
from assay.foundation.errors import HostError, HostTimeoutError
from assay.model import Address, Survey, survey_of

CONCURRENT_LOGINS_MAX = 16
"""Maximum number of concurrent logins. Each costs this machine and a jump host some CPU, and sshd drops
unauthenticated connections at random from the tenth on (MaxStartups)."""
HOST_TIMEOUT_S = 20.0
"""Maximum time of a host's survey, in seconds."""
CONNECT_TIMEOUT_S = 8.0
"""Maximum time for connecting to a host, in seconds."""
WATCH_S = 0.5
"""Observation time of a host's background load, in seconds."""
HostWork = Callable[[Transport], Awaitable[Survey]]


@dataclass(frozen=True, slots=True)
class SurveyedHosts:
    """Surveys of hosts, and unreachable hosts with the reason."""

    hosts: Mapping[str, Survey]
    errors: Mapping[str, HostError]


async def survey(
    transport: Transport,
    *,
    directories: Sequence[str] = (),
    peers: Sequence[str] = (),
    neighbour: str | None = None,
    timeout_s: float = HOST_TIMEOUT_S,
) -> Survey:
    """Return the survey of a host. Raises HostError if it fails."""
    options = {"directories": list(directories), "peers": list(peers), "neighbour": neighbour, "watch_s": WATCH_S}
    try:
        async with asyncio.timeout(timeout_s):
            offset = await clock_offset(transport, timeout_s)
            answer, environment, services = await asyncio.gather(
                run_script(transport, "survey", options, timeout_s=timeout_s),
                run_script(transport, "environment", {"directories": [], "java": None}, timeout_s=timeout_s),
                run_script(transport, "services", {}, timeout_s=timeout_s),
            )
    except TimeoutError as error:
        message = f"it does not answer within {timeout_s:g} s"
        raise HostTimeoutError(message, where=transport.name, hint="log in by hand and check what blocks it") from error
    try:
        return survey_of(
            transport.name, environment, {**answer, **services, "clock": {**answer["clock"], **asdict(offset)}}
        )
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise HostError(f"its answer is unexpected: {error}", where=f"{transport.name}: survey") from error


async def survey_all(
    addresses: Mapping[str, Address | None],
    work: HostWork = survey,
    *,
    timeout_s: float = HOST_TIMEOUT_S,
    progress: Callable[[str], None] = lambda _: None,
) -> SurveyedHosts:
    """Connect to every host and run ``work`` there. The address None is this machine. A failing host does not stop
    others."""
    slots = asyncio.Semaphore(CONCURRENT_LOGINS_MAX)
    finished_hosts = 0

    async def survey_host(name: str, address: Address | None) -> Survey:
        nonlocal finished_hosts
        async with slots:
            try:
                async with asyncio.timeout(timeout_s):
                    transport: Transport = (
                        await connect_ssh(name, address, connect_timeout_s=CONNECT_TIMEOUT_S)
                        if address
                        else LocalTransport(name)
                    )
                    try:
                        return await work(transport)
                    finally:
                        await transport.close()
            except TimeoutError as error:
                message = f"it does not answer within {timeout_s:g} s"
                hint = "log in by hand and check what blocks it"
                raise HostTimeoutError(message, where=name, hint=hint) from error
            finally:
                finished_hosts += 1
                progress(f"{finished_hosts} of {len(addresses)} hosts")

    results = await asyncio.gather(*(survey_host(*item) for item in addresses.items()), return_exceptions=True)
    surveys, errors = {}, {}
    for name, result in zip(addresses, results, strict=True):
        if isinstance(result, Survey):
            surveys[name] = result
        elif isinstance(result, HostError):
            errors[name] = result
        elif isinstance(result, BaseException):
            raise result
    return SurveyedHosts(surveys, errors)
