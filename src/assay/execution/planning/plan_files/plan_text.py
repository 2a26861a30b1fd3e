"""Write a plan as YAML: its content as texts, and the text with the line of each value. Pure.

Each top-level key starts a line, with the entries of its list or mapping below it. Deeper values are on one line.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.foundation.errors import SpecificationError
from assay.model import Layout, Plan, WorkloadSpec
from assay.specs.document import Document, Location, Value
from assay.specs.layouts import is_layout_code

PLAN_FILE, CLUSTER_FILE = "plan.yaml", "cluster.yaml"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/%+-]*")


def content_of(plan: Plan) -> dict[str, Value]:
    """Return the keys and values of the plan's file, defaults included."""
    layouts = {name: _layout(layout) for name, layout in plan.layouts.items() if not is_layout_code(name)}
    content: dict[str, Value] = {
        "plan": plan.name,
        "cluster": plan.cluster_file or CLUSTER_FILE,
        "engine": plan.engine,
        "parameters": dict(plan.parameters),
        "workloads": [_workload(workload) for workload in plan.workloads],
        "factors": {
            factor.name: {name: dict(settings) for name, settings in factor.settings.items()} or list(factor.levels)
            for factor in plan.factors
        },
        "layouts": layouts,
        "repetitions": str(plan.repetitions),
        "seed": str(plan.seed),
        "attempts": str(plan.attempts),
        "retries": {str(name): str(count) for name, count in plan.retries.items()},
    }
    if plan.until is not None:
        content["until"] = {"half_width": f"{plan.until.half_width * 100:.10g}%", "at_most": str(plan.until.at_most)}
    if plan.only:
        content["only"] = [dict(only_levels) for only_levels in plan.only]
    if plan.timeout_s is not None:
        content["timeout"] = f"{plan.timeout_s:.10g}s"
    return {key: value for key, value in content.items() if value}


def _workload(workload: WorkloadSpec) -> Value:
    per_node_bytes = workload.data_per_node_bytes
    data = {"data_per_node": f"{per_node_bytes}B"} if per_node_bytes else {"data": f"{workload.data_bytes}B"}
    return {workload.name: {**data, **workload.parameters, **({"label": workload.label} if workload.label else {})}}


def _layout(layout: Layout) -> Value:
    policy: dict[str, Value] = {"policy": str(layout.policy)} if layout.policy else {}
    return {
        "hdfs": {part.device: str(part.count) for part in layout.hdfs},
        "intermediate": {part.device: str(part.count) for part in layout.intermediate},
        **policy,
    }


def document_of_content(content: Mapping[str, Value], path: str = PLAN_FILE) -> Document:
    """Write ``content`` as YAML; return it as a document with the file name ``path``.

    Raises :class:`SpecificationError` for characters that YAML does not allow.
    """
    writer = _Writer(path)
    for key, value in content.items():
        writer.key(key, value)
    return Document(path, "\n".join([*writer.text, ""]), dict(content), writer.lines)


@dataclass(slots=True)
class _Writer:
    path: str
    text: list[str] = field(default_factory=list)
    lines: dict[Location, int] = field(default_factory=dict)

    def key(self, key: str, value: Value) -> None:
        """Write a top-level key."""
        if isinstance(value, str) or not value:
            self.line(f"{_scalar(key)}: {_inline(value)}", (key,), value)
            self.refuse(key)
            return
        self.line(f"{_scalar(key)}:", (key,), key)
        if isinstance(value, list):
            for index, item in enumerate(value):
                text = _inline(item)
                is_single_key = isinstance(item, dict) and len(item) == 1
                self.line(f"  - {text[1:-1] if is_single_key else text}", (key, index), item)
        else:
            for name, item in value.items():
                self.line(f"  {_scalar(name)}: {_inline(item)}", (key, name), item)
                self.refuse(name)

    def line(self, text: str, location: Location, value: Value) -> None:
        """Write a line, and record it as the line of ``value``."""
        self.text.append(text)
        self.note(location, value)

    def note(self, location: Location, value: Value) -> None:
        """Record the location of a value and of all values in it. Raises SpecificationError for invalid characters."""
        self.lines[location] = len(self.text)
        self.refuse(*([value] if isinstance(value, str) else value if isinstance(value, dict) else []))
        if isinstance(value, dict):
            for name, item in value.items():
                self.note((*location, name), item)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self.note((*location, index), item)

    def refuse(self, *texts: str) -> None:
        """Raise SpecificationError for a character on the last line that YAML does not allow."""
        if invalid_character := next(
            (character for text in texts for character in text if not _is_text(character)), None
        ):
            where = f"{self.path}:{len(self.text)}"
            raise SpecificationError(f"character U+{ord(invalid_character):04X} is not text", where=where)


def _is_text(character: str) -> bool:
    """Return whether the YAML reader accepts this character."""
    return character in "\n\t" or not (unicodedata.category(character) in {"Cc", "Cs"} or character in "\ufffe\uffff")


def _scalar(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) and text.lower() != "null"
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _inline(value: Value) -> str:
    if isinstance(value, str):
        return _scalar(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return "{" + ", ".join(f"{_scalar(name)}: {_inline(inner)}" for name, inner in value.items()) + "}"
