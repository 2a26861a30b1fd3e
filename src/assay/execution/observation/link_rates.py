"""Measure the throughput between each pair of hosts, for one second in each direction, on request.

In: names with addresses. Out: sender to receiver to bits/s as counted by the receiver, and the reason for each pair
that could not be measured. A host is in at most one pair per round, so its link carries one measurement at a time.
Pairs of a round share the links between switches. Directions are measured separately, because a bad cable often affects
only one direction.
"""

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from assay.execution.hosts import Transport, connect_ssh
from assay.execution.observation.scripts import command, run_script
from assay.foundation.errors import HostError
from assay.model import Address

TRAFFIC_S = 1.0
"""Duration of traffic per direction of a pair, in seconds."""
PAIR_TIMEOUT_S = 30.0
"""Maximum time of one measurement with its set-up, in seconds."""
ROUNDS_MAX = 80
"""Maximum number of rounds, which bounds a check to a few minutes. More than 40 hosts exceed it, and some pairs are
not measured."""
CONCURRENT_PAIRS_MAX = 8
"""Maximum number of concurrent pairs."""
CONNECT_TIMEOUT_S = 8.0
"""Maximum time for connecting to a host, in seconds."""


@dataclass(frozen=True, slots=True)
class LinkRates:
    """Sender to receiver to bits/s, and failed pairs with the reason."""

    rates: Mapping[str, Mapping[str, float]]
    errors: Mapping[tuple[str, str], str]


def rounds(names: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return all pairs in both directions, in rounds in which each host occurs at most once (circle method for
    tournaments)."""
    circle: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    pairings = []
    for _ in range(len(circle) - 1):
        pair_count = len(circle) // 2
        pairs = list(zip(circle[:pair_count], reversed(circle[pair_count:]), strict=True))
        pairings.append(
            [(sender, receiver) for sender, receiver in pairs if sender is not None and receiver is not None]
        )
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return pairings + [[(receiver, sender) for sender, receiver in pairs] for pairs in pairings]


async def measure_pairs(
    addresses: Mapping[str, Address], progress: Callable[[str], None] = lambda _: None
) -> LinkRates:
    """Connect to the hosts and measure. The result lists hosts that could not be reached."""
    rates: dict[str, dict[str, float]] = {}
    errors: dict[tuple[str, str], str] = {}
    async with AsyncExitStack() as stack:
        transports: dict[str, Transport] = {}
        for name, address in addresses.items():
            try:
                transports[name] = await connect_ssh(name, address, connect_timeout_s=CONNECT_TIMEOUT_S)
                stack.push_async_callback(transports[name].close)
            except HostError as error:
                errors |= {(name, other_name): error.message for other_name in addresses if other_name != name}
        all_rounds = rounds(list(transports))[:ROUNDS_MAX]
        slots = asyncio.Semaphore(CONCURRENT_PAIRS_MAX)

        async def measure(sender: str, receiver: str) -> None:
            async with slots:
                try:
                    rate = await _measure_rate(transports[sender], transports[receiver], addresses[receiver].host)
                    rates.setdefault(sender, {})[receiver] = rate
                except HostError as error:
                    errors[sender, receiver] = error.message

        for number, pairs in enumerate(all_rounds, 1):
            progress(f"pairs of hosts: round {number} of {len(all_rounds)}")
            await asyncio.gather(*(measure(*pair) for pair in pairs))
    return LinkRates(rates, errors)


async def _measure_rate(sender: Transport, receiver: Transport, host: str) -> float:
    options = {"seconds": TRAFFIC_S, "word": secrets.token_hex(16)}
    server = await receiver.start(command("link_rate", options))
    try:
        async with asyncio.timeout(PAIR_TIMEOUT_S):
            lines = aiter(server.stdout)
            port = _parse_line(await anext(lines, b""), receiver)["port"]
            sender_options = {**options, "host": host, "port": port}
            sender_answer = await run_script(sender, "link_rate", sender_options, timeout_s=PAIR_TIMEOUT_S)
            if "error" in sender_answer:
                message = f"can't connect to port {port} of {host}: {sender_answer['error']}"
                raise HostError(message, where=sender.name, hint="a firewall between the hosts?")
            receiver_answer = _parse_line(await anext(lines, b""), receiver)
    except TimeoutError as error:
        raise HostError(f"not measured within {PAIR_TIMEOUT_S:g} s", where=sender.name) from error
    finally:
        await server.terminate()
    return float(receiver_answer["bytes"]) * 8 / max(float(receiver_answer["seconds"]), TRAFFIC_S / 10)


def _parse_line(line: bytes, host: Transport) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise HostError("the measuring program ended without an answer", where=f"{host.name}: link_rate") from error
    if "error" in answer:
        raise HostError(str(answer["error"]), where=f"{host.name}: link_rate")
    return answer
