"""Describe the codes of storage layouts and networks in words."""

from collections.abc import Iterable

from assay.model import NETWORK_CODES, NetworkKind
from assay.model.clusters.layout_code import HDD, NVME, REMOTE, SSD, ExtraDeviceUse, LayoutCode, parse_code

_DEVICES = {HDD: "hard disk", SSD: "SSD", NVME: "NVMe drive", REMOTE: "remote volume"}
_KINDS = {NetworkKind.ETHERNET: "Ethernet", NetworkKind.INFINIBAND: "InfiniBand"}
_CODECS = {"none": "no", "snappy": "Snappy", "lz4": "LZ4", "lzf": "LZF", "zstd": "Zstandard", "gzip": "gzip"}
_NETWORKS = {code: _KINDS[kind] for code, kind in NETWORK_CODES.items()}


def meanings(names: Iterable[str]) -> dict[str, str]:
    """Return the meaning of codes of layouts (each worker's devices) and networks; other names are left out."""
    all_names = list(names)
    network_meanings = {name: _NETWORKS[name] for name in all_names if name in _NETWORKS}
    return network_meanings | {name: _meaning(code) for name in all_names if (code := parse_code(name)) is not None}


def network_text(name: str) -> str:
    """Return a network in words, ``InfiniBand`` for ``IB``; other names unchanged."""
    return _NETWORKS.get(name, name)


def codec_text(codec: str) -> str:
    """Return a compression codec in words: ``Snappy compression``, ``no compression`` for ``none``."""
    return f"{_CODECS.get(codec, codec)} compression"


def layout_text(name: str) -> str:
    """Return a layout for a table or a legend, devices first: ``5 hard disks + 1 SSD (HS5)``; other names unchanged."""
    code = parse_code(name)
    if code is None or code.disks is None:
        return name
    extra = "" if code.extra_kind is None else f" + 1 {_DEVICES[code.extra_kind]}"
    return f"{code.disks} {_DEVICES[code.kind]}{'s' if code.disks != 1 else ''}{extra}{_synonym_text(code)} ({name})"


def _synonym_text(code: LayoutCode) -> str:
    """Return the code with the same meaning: ``, as R3`` for ALOJA's RR3, so that no two codes have the same words."""
    return f", as R{code.disks}" if code.family == "RR" and not code.single else ""


def disk_noun(kind: str) -> str:
    """Return the singular noun for disks of a device kind or a family of layout codes: ``SSD``, ``remote volume``."""
    return _DEVICES[kind if kind in _DEVICES else LayoutCode(kind, None).kind]


def disk_kind_text(kind: str) -> str:
    """Return a kind of disks in words: ``SSDs``, ``hard disks with one SSD``."""
    extra_kind = None if kind in _DEVICES else LayoutCode(kind, None).extra_kind
    local = "local " if extra_kind and LayoutCode(kind, None).kind == REMOTE else ""
    return f"{disk_noun(kind)}s{f' with one {local}{_DEVICES[extra_kind]}' if extra_kind else ''}"


def _meaning(code: LayoutCode) -> str:
    devices = f"{code.disks} {_DEVICES[code.kind]}{'s' if code.disks != 1 else ''} per worker"
    if code.extra_kind is None:
        return f"{devices}, for everything{_synonym_text(code)}" if code.kind == REMOTE else devices
    device = f"one {'local ' if code.kind == REMOTE else ''}{_DEVICES[code.extra_kind]}"
    return {
        ExtraDeviceUse.INTERMEDIATE: f"{devices}, intermediate data on {device}",
        ExtraDeviceUse.HDFS: f"{devices}, for intermediate data, HDFS on {device}",
        ExtraDeviceUse.BOTH: f"{devices}, and {device}, both for everything",
    }[code.extra_device_use or ExtraDeviceUse.INTERMEDIATE]
