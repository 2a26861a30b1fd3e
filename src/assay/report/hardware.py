"""The chapter on hardware: nodes and devices as described, beside what they reached when measured bare.

In: a :class:`HardwareView`. Out: a chapter. Nothing is computed here.
"""

from assay.questions.hardware import Bare, HardwareView
from assay.report.chapters import line, table
from assay.report.document import Block, Chapter, Line, Paragraph
from assay.units import format_bit_rate
from assay.wording import language, numbers

Rows = list[tuple[Line | str, ...]]


def _rate(value: float) -> str:
    return f"{numbers.size(value)}/s"


def _reached(bare: Bare | None) -> str:
    """Return what the bare device reached, and its share of what is described."""
    if bare is None:
        return "not measured"
    share = f" ({numbers.share(bare.share)})" if bare.share is not None else ""
    return f"{_rate(bare.median)}{share}"


def hardware_chapter(view: HardwareView) -> Chapter | None:
    """Return the chapter; None where nothing is known."""
    if not view.nodes:
        return None
    several = len({row.cluster for row in view.nodes}) > 1
    nodes: Rows = [
        (
            f"{row.cluster}: {row.name}" if several else row.name,
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
            f"{row.cluster}: {row.node}" if several else row.node,
            f"{len(row.devices)} × {row.kind.upper()} ({', '.join(row.devices)})"
            + (f", {row.product}" if row.product else ""),
            numbers.size(float(row.capacity_bytes)),
            f"{_rate(row.read_bytes_per_s)}, {_rate(row.write_bytes_per_s)}",
            _reached(row.read),
            _reached(row.write),
        )
        for row in view.devices
    ]
    blocks: list[Block] = [
        Paragraph(
            line(
                "As the cluster file describes it. Bare: what fio and iperf3 reached before the runs, the median of "
                "like devices, and its share of what is described (in a lab: of that at its scale)."
            )
        ),
        table(("Node", "#Number", "Roles", "#Cores", "#Memory", "#Network", "#Bare link"), nodes, "Nodes"),
    ]
    if devices:
        columns = ("Node", "Devices of each", "#Capacity", "#Described read, write", "#Bare read", "#Bare write")
        blocks.append(table(columns, devices, "Storage devices"))
    if view.unknown:
        text = f"No description is kept of {language.joined(view.unknown)}."
        blocks.append(Paragraph(line(text), "soft"))
    return Chapter("hardware", "Hardware", tuple(blocks))
