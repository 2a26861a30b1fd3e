"""``assay baseline``: measure each device and link of an idle cluster, and compare with the specification."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from assay.foundation.units import format_percent
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import all_option, json_option, print_json, print_rows, row_limit, say
from assay.model import DEVIATION_MAX, Cluster, CoreSpeed, DeviceBaseline, Measurement
from assay.text import metric_text, plural


@click.command(cls=AssayCommand)
@click.argument("cluster", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@all_option
@json_option
def baseline(cluster: Path, all_rows: bool, as_json: bool) -> None:
    """Measure every device and link of the file CLUSTER with fio and iperf3.

    A running lab of that name is used; otherwise a lab is created and removed at the end.
    """
    from assay.execution.campaign.cluster_hosts import hosts_for
    from assay.foundation.process import terminable
    from assay.specs import load_cluster

    loaded_cluster = load_cluster(cluster)
    with terminable(), hosts_for(loaded_cluster, say) as (reachable_cluster, _):
        device_baseline, speeds = asyncio.run(_measure(reachable_cluster))
    if as_json:
        print_json({**_json(device_baseline), "cores": [asdict(speed) for speed in speeds]})
    else:
        _print(device_baseline, row_limit(all_rows))
        _print_speeds(loaded_cluster, speeds)


async def _measure(cluster: Cluster) -> tuple[DeviceBaseline, list[CoreSpeed]]:
    from assay.execution.hosts import LocalTransport, Transport, connect_ssh
    from assay.execution.observation.core_speed import core_speeds
    from assay.execution.observation.device_baseline import measure_baseline

    async with AsyncExitStack() as stack:
        transports: dict[str, Transport] = {}
        for node in cluster.nodes:
            transport = await connect_ssh(node.name, node.address) if node.address else LocalTransport(node.name)
            stack.push_async_callback(transport.close)
            transports[node.name] = transport
        baseline_result = await measure_baseline(cluster, transports, progress=say)
        say("baseline: one core of each node type")
        kinds = {node.type.name: node.name for node in reversed(cluster.nodes)}
        if cluster.lab is not None:  # all nodes share one machine
            kinds = {"": cluster.workers[0].name}
        return baseline_result, await core_speeds({name: transports[name] for name in kinds.values()})


def _print_speeds(cluster: Cluster, speeds: Sequence[CoreSpeed]) -> None:
    from assay.execution.observation.core_speed import REFERENCE_NAME

    types = {node.name: node.type for node in cluster.nodes}
    for speed in speeds:
        stated_speed = types[speed.node].cpu_speed
        stated_text = f"; the cluster file states {stated_speed:g}" if stated_speed != 1.0 else ""
        machine_text = "the lab's machine" if cluster.lab else f"{speed.node} (cpu: {{speed: {speed.speed:.2f}}})"
        interval = f"{speed.low:.2f} to {speed.high:.2f}, 90 % interval over {len(speed.by_work)} kinds of work"
        click.echo(
            f"a core of {machine_text}: {speed.speed:.2f} times as fast as the {REFERENCE_NAME} "
            f"({interval}){stated_text}"
        )


def _json(baseline_result: DeviceBaseline) -> dict[str, Any]:
    return {
        "baseline_id": baseline_result.baseline_id,
        "cluster": baseline_result.cluster,
        "measured_at": baseline_result.measured_at,
        "tools": baseline_result.tools,
        "measurements": [
            {
                "node": measurement.node,
                "subject": measurement.subject,
                "metric": measurement.metric,
                "value": measurement.value,
                "expected": measurement.expected,
                "modelled": measurement.modelled,
                "deviation": measurement.deviation,
                "deviates": measurement.deviates,
            }
            for measurement in baseline_result.measurements
        ],
    }


def _marks(measurement: Measurement) -> str:
    return ", ".join(
        word
        for word, is_marked in (("modelled", measurement.modelled), ("deviates", measurement.deviates))
        if is_marked
    )


def _print(baseline_result: DeviceBaseline, limit: int | None) -> None:
    """Print the number of deviations, then the measurements, with deviations first."""
    deviations = sum(measurement.deviates for measurement in baseline_result.measurements)
    deviations_text = plural(deviations, "figure deviates", "figures deviate") if deviations else "No figure deviates"
    check = " Check that nothing else uses the machine." if deviations else ""
    click.echo(f"{deviations_text} from the specification by more than {format_percent(DEVIATION_MAX)}.{check}\n")
    print_rows(
        ("node", "device or link", "metric", "measured", "specification", "deviation", ""),
        [
            (
                measurement.node,
                measurement.subject,
                *metric_text(measurement.metric, measurement.value),
                "" if measurement.expected is None else metric_text(measurement.metric, measurement.expected)[1],
                "" if measurement.deviation is None else f"{100 * measurement.deviation:+.1f} %",
                _marks(measurement),
            )
            for measurement in sorted(baseline_result.measurements, key=lambda measurement: not measurement.deviates)
        ],
        limit=limit,
        title=f"{baseline_result.cluster}, measured with "
        + ", ".join(f"{n} {v}" for n, v in baseline_result.tools.items()),
    )
