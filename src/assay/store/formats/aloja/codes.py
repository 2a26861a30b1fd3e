"""Translate ALOJA's codes: disks, networks, compression, benchmark suites, and columns of Hadoop parameters.

In: the texts of ALOJA's tables and folder names. Out: layout names with words, and engine parameters under Hadoop's
current names (bytes, counts). Sources: ALOJA's own scripts (github Aloja/aloja, ``cluster_functions.sh``,
``run_benchmarks.sh``, ``import_functions.sh`` and the Hadoop 1 configuration template) and the BSC report of 2015.

If ALOJA's code and its web page differ, the code applies, because it executed the runs: compression 2 is LZO in the
code and BZIP2 on the page.
"""

from collections.abc import Mapping
from typing import Any, Final

from assay.model import CodedWarning, ExtraDeviceUse, WarningCode, devices_of_code
from assay.model.clusters import layout_code

INVALID: Final = "ALOJA's table marks it invalid"
UNKNOWN: Final = frozenset({"", "null", "none", "na", "n/a", "\\n"})
"""Lower-case texts that represent no value in ALOJA's tables."""
MAPS: Final = "mapreduce.tasktracker.map.tasks.maximum"
SORT_FACTOR: Final = "mapreduce.task.io.sort.factor"
REPLICATION: Final = "dfs.replication"
FILE_BUFFER: Final = "io.file.buffer.size"
BLOCK_SIZE: Final = "dfs.blocksize"
COMPRESS: Final = "mapreduce.map.output.compress"
CODEC: Final = "mapreduce.map.output.compress.codec"
_INT_MAX: Final = 2**31 - 1
"""Maximum of a Java int, and so of these parameters."""
_REPLICATION_MAX: Final = 512
"""Hadoop's limit, dfs.replication.max."""
_BLOCK_MIB_MAX: Final = 2**20
"""Maximum block size: 1 TiB. A larger number is not in MiB, and probably in bytes."""
_DECIMAL_BLOCKS: Final = {
    mb: 2**power for power in range(25, 32) for mb in (2**power // 10**6, round(2**power / 10**6))
}
"""Decimal megabytes, which some services report, to block size in MiB: 134 to 128. None is a usual size in MiB."""
COUNTS: Final[Mapping[str, tuple[str, int, int]]] = {
    "maps": (MAPS, 1, _INT_MAX),
    "iosf": (SORT_FACTOR, 1, _INT_MAX),
    "replication": (REPLICATION, 1, _REPLICATION_MAX),
    "iofilebuf": (FILE_BUFFER, 1, _INT_MAX),
    "blk_size": (BLOCK_SIZE, 2**20, _BLOCK_MIB_MAX),
}
"""ALOJA's column to Hadoop's parameter, the factor between their units, and the largest plausible value."""
CODECS: Final[Mapping[str, str]] = {
    "1": "org.apache.hadoop.io.compress.DefaultCodec",
    "2": "com.hadoop.compression.lzo.LzoCodec",
    "3": "org.apache.hadoop.io.compress.SnappyCodec",
}
_COMPRESSION_NAMES: Final = {"none": "0", "zlib": "1", "bzip2": "2", "lzo": "2", "snappy": "3"}
"""The names that ALOJA's page shows for its codes, in lower case; its BZIP2 was LZO."""
_SUITES: Final = {"b": "HiBench", "b_min": "HiBench-min", "b_10": "HiBench-10", "hdi": "HDI"}
_DEVICES: Final = {
    layout_code.HDD: "hard disk",
    layout_code.SSD: "SSD",
    layout_code.NVME: "NVMe drive",
    layout_code.REMOTE: "remote volume",
}
RAM_DISK: Final = "RAM"


def known_text(text: str) -> str:
    """Return ``text`` without surrounding blanks; empty for ALOJA's representations of no value."""
    text = text.strip()
    return "" if text.lower() in UNKNOWN else text


def layout_name(code: str) -> str:
    """Return the layout's name: ALOJA's code itself; empty when it is absent (ALOJA writes 0 for a PaaS cluster)."""
    code = known_text(code)
    return "" if code == "0" else code


def network(code: str) -> str:
    """Return the network's level: ALOJA's code itself; empty when it is absent (0 for a PaaS cluster)."""
    return layout_name(code)


def layout_description(code: str) -> str | None:
    """Return the meaning of a disk code; None if ALOJA's scripts do not explain it."""
    if code == RAM_DISK:
        return "HDFS and intermediate data on a RAM disk"
    layout = layout_code.parse_code(code)
    if layout is None:
        return None
    device = "NFS mount" if layout.family == "NFS" else _DEVICES[layout.kind]
    if layout.single:
        return f"HDFS and intermediate data on one {device}"
    disks = f"{layout.disks} {device}{'s' if layout.disks != 1 else ''}"
    if layout.extra_kind is None:
        return f"HDFS on {disks}, intermediate data on the first of them"
    one_device = f"one {'local ' if layout.kind == layout_code.REMOTE else ''}{_DEVICES[layout.extra_kind]}"
    return {
        ExtraDeviceUse.INTERMEDIATE: f"HDFS on {disks}, intermediate data on {one_device}",
        ExtraDeviceUse.HDFS: f"HDFS on {one_device}, intermediate data on {disks}",
        ExtraDeviceUse.BOTH: f"HDFS and intermediate data on {disks} and {one_device}",
    }[layout.extra_device_use or ExtraDeviceUse.INTERMEDIATE]


def layout_facts(layout: str) -> dict[str, Any]:
    """Return the facts about a layout in the environment of a run: its devices and its description, if known."""
    facts: dict[str, Any] = {}
    if devices := devices_of_code(layout):
        facts["layout_devices"] = devices
    if (description := layout_description(layout)) is not None:
        facts["layout_words"] = description
    return facts


def remarks(row: Mapping[str, str]) -> tuple[CodedWarning, ...]:
    """Return ALOJA's remarks on a run from the columns ``filter``, ``outlier`` and ``exec_type``."""
    labels = {"filter": "ALOJA's views leave it out (filter)", "outlier": "ALOJA's prediction calls it an outlier"}
    problems = [message for column, message in labels.items() if known_text(row.get(column, "")) not in ("", "0")]
    kind = known_text(row.get("exec_type", ""))
    if kind not in ("", "default"):
        problems.append(f"ALOJA's type of execution is {kind!r}")
    return tuple(CodedWarning(WarningCode.FLAGGED, message) for message in problems)


def suite(bench_type: str) -> str:
    """Return the benchmark suite: its name in ALOJA's database for the letter that folder names have."""
    bench_type = known_text(bench_type)
    return _SUITES.get(bench_type.lower(), bench_type)


def workload_parameters(bench_type: str, datasize: str, scale: str) -> dict[str, str]:
    """Return the options of a workload that ALOJA records: suite, data size and scale. Unknown values are omitted."""
    values = {"suite": suite(bench_type), "datasize": known_text(datasize), "scale": known_text(scale)}
    return {name: text for name, text in values.items() if text}


def parameters(columns: Mapping[str, str]) -> dict[str, str]:
    """Return Hadoop's parameters for ALOJA's columns: those of :data:`COUNTS`, and ``comp``.

    Absent columns and counts of 0 are unknown and give no parameter. Each column gives one parameter, so that it can
    be a factor. Values that ALOJA's scripts derive from it (as many reduce slots as map slots, a sort
    buffer of 10 MiB times the sort factor) are not repeated. Raises ValueError for implausible values.
    """
    values = {}
    for column, (name, factor, maximum) in COUNTS.items():
        value = _count(column, columns.get(column, ""), maximum)
        if value:
            values[name] = str((_DECIMAL_BLOCKS.get(value) if name == BLOCK_SIZE else None) or value * factor)
    return values | _compression(columns.get("comp", ""))


def _count(column: str, text: str, maximum: int) -> int:
    text = known_text(text)
    if not text:
        return 0
    digits = text.removesuffix(".0")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 20:
        raise ValueError(f"{column} is {text!r}, which is not a whole number")
    if int(digits) > maximum:
        raise ValueError(f"{column} is {digits}, more than the maximum of {maximum}")
    return int(digits)


def _compression(text: str) -> dict[str, str]:
    code = text.strip().lower().removeprefix("cmp")
    code = _COMPRESSION_NAMES.get(code) or known_text(code)
    if not code:
        return {}
    if code == "0":
        return {COMPRESS: "false"}
    if code not in CODECS:
        raise ValueError(f"comp is {text!r}, which is not one of ALOJA's codes 0 to 3")
    return {COMPRESS: "true", CODEC: CODECS[code]}
