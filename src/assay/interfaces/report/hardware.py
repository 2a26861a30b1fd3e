"""Compose the chapter on hardware: nodes and devices of the cluster file, with the rates that fio and iperf3 measured.

In: a :class:`HardwareView`. Out: a chapter. Nothing is computed here.
"""

from functools import partial

from assay.foundation.units import format_bit_rate
from assay.interfaces.charts.cluster import cluster_diagram
from assay.interfaces.charts.drawing.style import FULL_PX
from assay.interfaces.report.output.document import Block, Chapter, Line, Paragraph, ReportFigure
from assay.interfaces.report.tables import table, table_blocks
from assay.questions.clusters.hardware import BareMeasurement, HardwareView
from assay.text import language, numbers, slug

DIAGRAMS_MAX = 3
"""Maximum number of clusters with a diagram."""

Rows = list[tuple[Line | str, ...]]


def _rate(value: float) -> str:
    return f"{numbers.size(value)}/s"


def _measured_rate(measurement: BareMeasurement | None) -> str:
    """Return the measured rate of a device, and its share of the described rate."""
    if measurement is None:
        return "not measured"
    share = f" ({numbers.share(measurement.share)})" if measurement.share is not None else ""
    return f"{_rate(measurement.median)}{share}"


def _diagrams(view: HardwareView) -> list[ReportFigure]:
    """Return a diagram of each described cluster, up to :data:`DIAGRAMS_MAX`."""
    figures = []
    for name in list(dict.fromkeys(row.cluster for row in view.nodes))[:DIAGRAMS_MAX]:
        nodes = [row for row in view.nodes if row.cluster == name]
        devices = [row for row in view.devices if row.cluster == name]
        caption = (
            f"The cluster {name}: kinds of nodes, storage devices of each node by class, and the link of each node."
        )
        figures.append(
            ReportFigure(f"cluster-{slug(name)}", partial(cluster_diagram, nodes, devices), caption, FULL_PX)
        )
    return figures


def hardware_chapter(view: HardwareView) -> Chapter | None:
    """Return the chapter; None if no cluster file describes the nodes."""
    if not view.nodes:
        return None
    has_several_clusters = len({row.cluster for row in view.nodes}) > 1
    nodes: Rows = [
        (
            f"{row.cluster}: {row.name}" if has_several_clusters else row.name,
            str(row.nodes),
            ", ".join(row.roles),
            str(row.cores),
            numbers.size(float(row.memory_bytes)),
            format_bit_rate(row.nic_bits_per_s),
            "not measured"
            if row.link is None
            else f"{format_bit_rate(row.link.median)}"
            + (f" ({numbers.share(row.link.share)})" if row.link.share is not None else ""),
        )
        for row in view.nodes
    ]
    devices: Rows = [
        (
            f"{row.cluster}: {row.node}" if has_several_clusters else row.node,
            f"{len(row.devices)} × {row.kind.upper()} ({', '.join(row.devices)})"
            + (f", {row.product}" if row.product else ""),
            numbers.size(float(row.capacity_bytes)),
            f"{_rate(row.read_bytes_per_s)}, {_rate(row.write_bytes_per_s)}",
            _measured_rate(row.read),
            _measured_rate(row.write),
        )
        for row in view.devices
    ]
    blocks: list[Block] = [
        Paragraph(
            (
                "As the cluster file describes it. Bare: the rate that fio and iperf3 reached before the runs, as the "
                "median of equal devices, and its share of the described rate (in a lab: of that rate at its scale).",
            )
        ),
        *_diagrams(view),
        *table_blocks(
            table(("Node", "#Number", "Roles", "#Cores", "#Memory", "#Network", "#Bare link"), nodes, "Nodes"), "nodes"
        ),
    ]
    if devices:
        columns = ("Node", "Devices per node", "#Capacity", "#Described read, write", "#Bare read", "#Bare write")
        blocks += table_blocks(table(columns, devices, "Storage devices"), "storage-devices")
    if view.unknown:
        text = f"No description is stored of {language.joined(view.unknown)}."
        blocks.append(Paragraph((text,), "soft"))
    return Chapter("hardware", "Hardware", tuple(blocks))
