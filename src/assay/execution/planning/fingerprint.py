"""Compute a plan's fingerprint: SHA-256 over canonical JSON of everything that decides which runs are made.

Excluded: formatting, comments, file names, prices, time limits, ``until``, login names, and assay's folders on hosts.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from assay.model import Address, NodeType, Plan

_IDENTITY_KEYS = ("cluster", "engine", "layouts", "workloads", "factors", "parameters", "repetitions", "seed")
_OPTIONAL_IDENTITY_KEYS = ("only",)
_IGNORED_FIELDS = ("price", "home", "cpu_model", "product")
_OPTIONAL_FIELDS = (
    "policy",
    "settings",
    "networks",
    "data_per_node_bytes",
    "hdd",
    "flash",
    "disks",
    "attached",
    "racks",
    "spark",
    "only_edge",
    "cpu_speed",
    "simulated",
    "credits",
)
"""Keys that were added after the first fingerprints were stored: a file without them keeps its fingerprint."""


def with_fingerprint(plan: Plan) -> Plan:
    """Return ``plan`` with its fingerprint: 64 hexadecimal digits, equal for plans that ask for the same runs."""
    present_keys = [name for name in _OPTIONAL_IDENTITY_KEYS if getattr(plan, name)]
    types: dict[int, Any] = {}
    values_by_key = {name: _json_value(getattr(plan, name), types) for name in (*_IDENTITY_KEYS, *present_keys)}
    canonical_json = json.dumps(values_by_key, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return replace(plan, fingerprint=hashlib.sha256(canonical_json.encode()).hexdigest())


def _fields(value: Any, types: dict[int, Any]) -> dict[str, Any]:
    identity = {field.name: getattr(value, field.name) for field in fields(value) if field.name not in _IGNORED_FIELDS}
    return {
        name: _json_value(part, types)
        for name, part in identity.items()
        if name not in _OPTIONAL_FIELDS or (bool(part) and (name, part) != ("cpu_speed", 1.0))
    }


def _json_value(value: Any, types: dict[int, Any]) -> Any:
    """Return ``value`` as JSON's types, with sets sorted.

    ``types`` caches the values of node types by identity: thousands of nodes share a type.
    """
    if isinstance(value, NodeType):
        if id(value) not in types:
            types[id(value)] = _fields(value, types)
        return types[id(value)]
    if isinstance(value, Address):
        return value.host
    if is_dataclass(value):
        return _fields(value, types)
    if isinstance(value, Mapping):
        return {str(key): _json_value(item, types) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(_json_value(item, types) for item in value)
    if isinstance(value, list | tuple):
        return [_json_value(item, types) for item in value]
    return value
