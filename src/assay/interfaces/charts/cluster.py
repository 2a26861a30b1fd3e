"""Draw a cluster: a box for each kind of node, with its storage devices by class and its network link.

In: kinds of nodes and their devices, as the cluster file describes them. Out: a Vega-Lite specification with
coordinates in pixels. The network is a bar at the left. A line joins it to each box, with the bit rate of one node's
link.
"""

from collections.abc import Sequence

from assay.analysis.comparison.factors.device_classes import DeviceClass
from assay.foundation.units import format_bit_rate
from assay.interfaces.charts.drawing.identity import colours_of
from assay.interfaces.charts.drawing.style import FULL_PX, INK, PALETTE, Spec, chart
from assay.questions.clusters.hardware import DeviceRow, NodeRow
from assay.text import numbers, plural

CLASS_OF_KIND = {"hdd": DeviceClass.HARD_DISKS, "ssd": DeviceClass.SSD, "nvme": DeviceClass.NVME}
DEVICE_NAMES = {"hdd": "hard disk", "ssd": "SSD", "nvme": "NVMe device"}
SQUARES_MAX = 8
"""Maximum number of device squares in a row; the text after them states the number of devices."""
BOX_LEFT_PX = 130
"""Left edge of the boxes, in pixels."""
BOX_RIGHT_MAX_PX = 560
"""Maximum right edge of the boxes, in pixels."""
LINE_PX = 22
"""Height of a line of text, in pixels."""
SQUARE_PX = 11
"""Side of a device square, in pixels."""
GAP_PX = 22
"""Vertical distance between two boxes, in pixels."""
STACK_PX = 4
"""Offset of the second outline of a box for several nodes, in pixels."""


def cluster_diagram(nodes: Sequence[NodeRow], devices: Sequence[DeviceRow], width_px: int = FULL_PX) -> Spec:
    """Return the chart of one cluster."""
    colours = colours_of([device_class.value for device_class in DeviceClass])
    rectangles: list[Spec] = []
    texts: list[Spec] = []
    lines: list[Spec] = []
    top = STACK_PX
    right = min(width_px - 3 * STACK_PX, BOX_RIGHT_MAX_PX)
    for node in nodes:
        rows = [row for row in devices if row.node == node.name]
        bottom = top + LINE_PX * (2 + len(rows)) + STACK_PX
        if node.nodes > 1:
            back_right, back_top = right + STACK_PX, top - STACK_PX
            lines.append({"x": BOX_LEFT_PX + STACK_PX, "x2": back_right, "y": back_top, "y2": back_top})
            lines.append({"x": back_right, "x2": back_right, "y": back_top, "y2": bottom - STACK_PX})
        rectangles.append(_rectangle(BOX_LEFT_PX, right, top, bottom))
        title = f"{node.nodes} × {node.name} ({', '.join(node.roles)})"
        size = f"{plural(node.cores, 'core')}, {numbers.size(float(node.memory_bytes))} of memory"
        texts += [
            _text(BOX_LEFT_PX + 12, top + LINE_PX * 0.75, title, 600),
            _text(BOX_LEFT_PX + 12, top + LINE_PX * 1.6, size),
        ]
        for index, row in enumerate(rows):
            middle = top + LINE_PX * (2.5 + index)
            left = BOX_LEFT_PX + 12.0
            for _ in row.devices[:SQUARES_MAX]:
                colour = colours[CLASS_OF_KIND[row.kind].value] if row.kind in CLASS_OF_KIND else PALETTE[-1]
                rectangles.append(
                    _rectangle(left, left + SQUARE_PX, middle - SQUARE_PX / 2, middle + SQUARE_PX / 2, colour)
                )
                left += SQUARE_PX + 3
            kind = plural(len(row.devices), DEVICE_NAMES.get(row.kind, row.kind))
            texts.append(_text(left + 5, middle, f"{kind} of {numbers.size(float(row.capacity_bytes))}"))
        middle = (top + bottom) / 2
        lines.append({"x": 26, "x2": BOX_LEFT_PX, "y": middle, "y2": middle})
        texts.append(_text(34, middle - 9, format_bit_rate(node.nic_bits_per_s)))
        top = bottom + GAP_PX
    height = top - GAP_PX + STACK_PX
    rectangles.append(_rectangle(18, 26, STACK_PX, height - STACK_PX, INK))
    return chart(
        _description(nodes, devices),
        {
            "width": width_px,
            "height": height,
            "layer": [
                {
                    "data": {"values": lines},
                    "mark": {"type": "rule", "stroke": INK},
                    "encoding": _coordinates("x", "x2", "y", "y2"),
                },
                _rectangles(rectangles),
                _texts(texts),
                _texts([_text(8, height / 2, "Network")], angle=270),
            ],
        },
    )


def _description(nodes: Sequence[NodeRow], devices: Sequence[DeviceRow]) -> str:
    node_texts = []
    for node in nodes:
        disks = [
            plural(len(row.devices), DEVICE_NAMES.get(row.kind, row.kind)) for row in devices if row.node == node.name
        ]
        node_texts.append(
            f"{node.nodes} × {node.name} with {', '.join([*disks, format_bit_rate(node.nic_bits_per_s)])}"
        )
    return f"Cluster: {'; '.join(node_texts)}"


def _rectangle(left: float, right: float, top: float, bottom: float, fill: str = "") -> Spec:
    return {"x": left, "x2": right, "y": top, "y2": bottom, "fill": fill or "transparent", "line": fill or INK}


def _text(left: float, middle: float, text: str, weight: int = 400) -> Spec:
    return {"x": left, "y": middle, "text": text, "weight": weight}


def _coordinates(*channels: str) -> Spec:
    """Return the encoding of pixel coordinates."""
    pixel_scale = {"type": "quantitative", "scale": None, "axis": None}
    return {name: {"field": name, **(pixel_scale if len(name) == 1 else {})} for name in channels}


def _rectangles(values: list[Spec]) -> Spec:
    colour = {"type": "nominal", "scale": None, "legend": None}
    return {
        "data": {"values": values},
        "mark": {"type": "rect", "cornerRadius": 2},
        "encoding": {
            **_coordinates("x", "x2", "y", "y2"),
            "fill": {"field": "fill", **colour},
            "stroke": {"field": "line", **colour},
        },
    }


def _texts(values: list[Spec], *, angle: int = 0) -> Spec:
    layers = []
    for weight in dict.fromkeys(value["weight"] for value in values):
        mark = {
            "type": "text",
            "align": "center" if angle else "left",
            "baseline": "middle",
            "fontWeight": weight,
            "angle": angle,
        }
        texts_of_weight = [value for value in values if value["weight"] == weight]
        layers.append(
            {
                "data": {"values": texts_of_weight},
                "mark": mark,
                "encoding": {**_coordinates("x", "y"), "text": {"field": "text"}},
            }
        )
    return {"layer": layers}
