"""Survey hosts: everything that describing and checking them needs, from many at once, each within a time limit.

In: names with addresses, or open transports. Out: a :class:`~assay.model.clusters.survey.Survey` for each host that
could be asked, and for every other one the error that says why not. Nothing is written on a host.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from assay.execution.hosts import LocalTransport, Transport, connect_ssh
from assay.execution.observation.scripts import run_script
from assay.foundation.errors import HostError, HostTimeoutError
from assay.model import Address, Survey, survey_of

AT_ONCE = 16
"""Hosts that are asked at the same time: each login costs this machine and a jump host some CPU, and sshd drops
unauthenticated connections at random from its tenth on (MaxStartups).
"""
HOST_TIMEOUT_S = 20.0
CONNECT_TIMEOUT_S = 8.0
WATCH_S = 0.5
HostWork = Callable[[Transport], Awaitable[Survey]]


@dataclass(frozen=True, slots=True)
class SurveyedHosts:
    """What was found, and which hosts could not be asked, each with the reason."""

    hosts: Mapping[str, Survey]
    failed: Mapping[str, HostError]


async def survey(
    transport: Transport,
    *,
    directories: Sequence[str] = (),
    peers: Sequence[str] = (),
    neighbour: str | None = None,
    timeout_s: float = HOST_TIMEOUT_S,
) -> Survey:
    """Return what a host is. Raises HostError when it can't be asked."""
    options = {"directories": list(directories), "peers": list(peers), "neighbour": neighbour, "watch_s": WATCH_S}
    try:
        async with asyncio.timeout(timeout_s):
            offset = await _offset(transport, timeout_s)
            answer, environment, services = await asyncio.gather(
                run_script(transport, "survey", options, timeout_s=timeout_s),
                run_script(transport, "environment", {"directories": [], "java": None}, timeout_s=timeout_s),
                run_script(transport, "services", {}, timeout_s=timeout_s),
            )
    except TimeoutError as error:
        words = f"it does not answer within {timeout_s:g} s"
        raise HostTimeoutError(words, where=transport.name, hint="log in by hand and see what it hangs on") from error
    try:
        return survey_of(transport.name, environment, {**answer, **services, "clock": {**answer["clock"], **offset}})
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise HostError(f"its answer is not what was asked for: {error}", where=f"{transport.name}: survey") from error


async def _offset(transport: Transport, timeout_s: float) -> dict[str, float]:
    """Return how far the host's clock is from this one's, in s, taking that it told its time midway; and how sure."""
    began = time.time()
    result = await transport.run(["date", "+%s.%N"], timeout_s=timeout_s)
    ended = time.time()
    try:
        there = float(result.stdout)
    except ValueError as error:
        words = f"its answer is not a time: {result.stdout[:80]!r}"
        hint = "a start-up file of the login shell, such as .bashrc, must not print anything"
        raise HostError(words, where=f"{transport.name}: date", hint=hint) from error
    return {"offset_s": there - (began + ended) / 2, "uncertain_s": (ended - began) / 2}


async def survey_all(
    addresses: Mapping[str, Address | None],
    work: HostWork = survey,
    *,
    timeout_s: float = HOST_TIMEOUT_S,
    progress: Callable[[str], None] = lambda _: None,
) -> SurveyedHosts:
    """Connect to every host and do ``work`` there; None is this machine. A host that fails stops no other one."""
    turns = asyncio.Semaphore(AT_ONCE)
    done = 0

    async def ask(name: str, address: Address | None) -> Survey:
        nonlocal done
        async with turns:
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
                words = f"it does not answer within {timeout_s:g} s"
                hint = "log in by hand and see what it hangs on"
                raise HostTimeoutError(words, where=name, hint=hint) from error
            finally:
                done += 1
                progress(f"{done} of {len(addresses)} hosts")

    results = await asyncio.gather(*(ask(*item) for item in addresses.items()), return_exceptions=True)
    surveys, failed = {}, {}
    for name, result in zip(addresses, results, strict=True):
        if isinstance(result, Survey):
            surveys[name] = result
        elif isinstance(result, HostError):
            failed[name] = result
        elif isinstance(result, BaseException):
            raise result
    return SurveyedHosts(surveys, failed)
