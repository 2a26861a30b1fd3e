"""``assay baseline``: what each bare device and link of a cluster can do, beside its specification."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import json_option, print_json, print_table, say
from assay.model import DEVIATION_MAX, Baseline, Cluster, CoreSpeed, Measurement
from assay.text import metric_text


@click.command(cls=AssayCommand)
@click.argument("cluster", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@json_option
def baseline(cluster: Path, as_json: bool) -> None:
    """Measure every device and link of the file CLUSTER with fio and iperf3.

    A lab of that name is used if it is up; else one is made, and removed in the end.
    """
    from assay.execution.campaign.cluster_hosts import hosts_for
    from assay.foundation.process import terminable
    from assay.specs import load_cluster

    described = load_cluster(cluster)
    with terminable(), hosts_for(described, say) as (reachable, _):
        measured, speeds = asyncio.run(_measure(reachable))
    if as_json:
        print_json({**_json(measured), "cores": [asdict(one) for one in speeds]})
    else:
        _print(measured)
        _print_speeds(described, speeds)


async def _measure(cluster: Cluster) -> tuple[Baseline, list[CoreSpeed]]:
    from assay.execution.hosts import LocalTransport, Transport, connect_ssh
    from assay.execution.observation.baseline import measure_baseline
    from assay.execution.observation.core_speed import core_speeds

    async with AsyncExitStack() as stack:
        transports: dict[str, Transport] = {}
        for node in cluster.nodes:
            made = await connect_ssh(node.name, node.address) if node.address else LocalTransport(node.name)
            stack.push_async_callback(made.close)
            transports[node.name] = made
        measured = await measure_baseline(cluster, transports, progress=say)
        say("baseline: a core of each kind of node")
        kinds = {node.type.name: node.name for node in reversed(cluster.nodes)}
        if cluster.lab is not None:  # all nodes are this one machine
            kinds = {"": cluster.workers[0].name}
        return measured, await core_speeds({name: transports[name] for name in kinds.values()})


def _print_speeds(cluster: Cluster, speeds: Sequence[CoreSpeed]) -> None:
    from assay.execution.observation.core_speed import REFERENCE_NAME

    types = {node.name: node.type for node in cluster.nodes}
    for one in speeds:
        stated = types[one.node].cpu_speed
        said = f"; the cluster file says {stated:g}" if stated != 1.0 else ""
        where = "the lab's machine" if cluster.lab else f"{one.node} (cpu: {{speed: {one.speed:.2f}}})"
        interval = f"{one.low:.2f} to {one.high:.2f}, nine of ten, as {len(one.by_work)} kinds of work differ"
        click.echo(f"a core of {where}: {one.speed:.2f} times as fast as the {REFERENCE_NAME} ({interval}){said}")


def _json(measured: Baseline) -> dict[str, Any]:
    return {
        "baseline_id": measured.baseline_id,
        "cluster": measured.cluster,
        "measured_at": measured.measured_at,
        "tools": measured.tools,
        "measurements": [
            {
                "node": one.node,
                "subject": one.subject,
                "metric": one.metric,
                "value": one.value,
                "expected": one.expected,
                "modelled": one.modelled,
                "deviation": one.deviation,
                "off": one.is_off,
            }
            for one in measured.measurements
        ],
    }


def _marks(one: Measurement) -> str:
    return ", ".join(word for word, holds in (("modelled", one.modelled), ("off", one.is_off)) if holds)


def _print(measured: Baseline) -> None:
    print_table(
        ("node", "device or link", "figure", "measured", "specification", "deviation", ""),
        [
            (
                one.node,
                one.subject,
                *metric_text(one.metric, one.value),
                "" if one.expected is None else metric_text(one.metric, one.expected)[1],
                "" if one.deviation is None else f"{one.deviation:+.1%}",
                _marks(one),
            )
            for one in measured.measurements
        ],
        title=f"{measured.cluster}, measured with " + ", ".join(f"{n} {v}" for n, v in measured.tools.items()),
    )
    off = sum(one.is_off for one in measured.measurements)
    if off:
        say(f"{off} figures are more than {DEVIATION_MAX:.0%} off: is the machine busy with something else?")
