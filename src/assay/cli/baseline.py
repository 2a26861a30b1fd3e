"""``assay baseline``: what each bare device and link of a cluster can do, beside its specification."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.common import json_option, print_json, print_table
from assay.model.baseline import DEVIATION_MAX, Baseline, Measurement
from assay.model.cluster import Cluster
from assay.wording.metrics import metric_text

if TYPE_CHECKING:
    from assay.hosts import Transport


@click.command()
@click.argument("cluster", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@json_option
def baseline(cluster: Path, as_json: bool) -> None:
    """Measure every device and link of the file CLUSTER with fio and iperf3.

    A lab of that name is used if it is up; else one is made, and removed in the end.
    """
    from assay.campaign.cluster_hosts import hosts_for  # imported here to keep start-up short
    from assay.process import terminable
    from assay.spec import load_cluster

    described = load_cluster(cluster)
    with terminable(), hosts_for(described, _say) as (reachable, _):
        measured = asyncio.run(_measure(reachable))
    if as_json:
        print_json(_json(measured))
    else:
        _print(measured)


def _say(words: str) -> None:
    click.echo(words, err=True)


async def _measure(cluster: Cluster) -> Baseline:
    from assay.hosts import LocalTransport, connect_ssh
    from assay.observe.baseline import measure_baseline

    async with AsyncExitStack() as stack:
        transports: dict[str, Transport] = {}
        for node in cluster.nodes:
            made = await connect_ssh(node.name, node.address) if node.address else LocalTransport(node.name)
            stack.push_async_callback(made.close)
            transports[node.name] = made
        return await measure_baseline(cluster, transports, progress=_say)


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
        _say(f"{off} figures are more than {DEVIATION_MAX:.0%} off: is the machine busy with something else?")
