"""Parse the codes of storage layouts, for example ``HDD``, ``HD5``, ``HS5``, ``HY4`` and ``RL3``.

In: names of layouts. Out: :class:`LayoutCode`, the devices of each worker and their purpose. ALOJA's codes come from
its scripts (github Aloja/aloja, ``cluster_functions.sh``); ``SHn`` and ``HYn`` extend them to the setups of LISA'14.
:func:`parse_code` accepts codes of plans and of ALOJA's data. :func:`parse_name` also accepts the spellings of papers
(``HDD-11``, ``All-SSD``, ``Hybrid``). A name may be wrong: prefer recorded devices.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from assay.model.clusters.cluster import DeviceKind

HDD, SSD, NVME = DeviceKind.HDD.value, DeviceKind.SSD.value, DeviceKind.NVME.value
REMOTE = "remote"
"""Kind of a volume that is attached over the network."""


class ExtraDeviceUse(Enum):
    """The purpose of an additional device; the numbered devices hold the other data."""

    INTERMEDIATE = "intermediate data"
    HDFS = "HDFS"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class _Family:
    kind: str
    """Kind of the numbered devices."""
    extra_kind: str | None = None
    """Kind of the additional device; None if there is none."""
    extra_device_use: ExtraDeviceUse = ExtraDeviceUse.INTERMEDIATE
    """Purpose of the additional device."""


_FAMILIES: Mapping[str, _Family] = {
    "HD": _Family(HDD),
    "SS": _Family(SSD),
    "NVE": _Family(NVME),
    "HS": _Family(HDD, SSD),
    "SH": _Family(HDD, SSD, ExtraDeviceUse.HDFS),
    "HY": _Family(HDD, SSD, ExtraDeviceUse.BOTH),
    "HN": _Family(HDD, NVME),
    "RR": _Family(REMOTE),
    "RL": _Family(REMOTE, HDD),
    "RS": _Family(REMOTE, SSD),
    "R": _Family(REMOTE),
    "NFS": _Family(REMOTE, HDD),
}
_SINGLE = {"HDD": "HD", "SSD": "SS", "NVE": "NVE", "NFS": "RR"}
"""Codes of one device, with the code that has the same devices. One NFS mount also holds the intermediate data."""
_CODE = re.compile(r"(HDD|SSD|NVE|NFS)|([A-Z]{1,3})([1-9][0-9]{0,2})")
_PAPER_SPELLING = re.compile(
    r"(?:ALL[-_ ]?)?(?:(HD|SS)D?|(NV)M?E?|(HY)(?:BRID)?|(HS|SH|HN|NFS)|(RR|RL|RS|R)(?=[-_ ]?[0-9]))"
    r"[-_ ]?([1-9][0-9]{0,2})?(?![A-Z0-9])(.*)"
)


@dataclass(frozen=True, slots=True)
class LayoutCode:
    """The devices of each worker, according to the name of a layout."""

    family: str
    """``HD``, ``SS``, ``NVE``, ``HS``, ``SH``, ``HY``, ``HN``, ``RR``, ``RL``, ``RS``, ``R`` or ``NFS``."""
    disks: int | None
    """Number of numbered devices; None if the name does not state it (``All-SSD``)."""
    single: str | None = None
    """The code if it has no number, for example ``HDD``."""

    @property
    def kind(self) -> str:
        """Kind of the numbered devices: hdd, ssd, nvme or remote."""
        return self._meaning.kind

    @property
    def extra_kind(self) -> str | None:
        """Kind of the additional device; None if there is none."""
        return self._meaning.extra_kind

    @property
    def extra_device_use(self) -> ExtraDeviceUse | None:
        """Purpose of the additional device; None if there is none."""
        return self._meaning.extra_device_use if self._meaning.extra_kind else None

    @property
    def _meaning(self) -> _Family:
        return _FAMILIES[_SINGLE[self.single] if self.single else self.family]

    @property
    def devices(self) -> dict[str, int | None]:
        """Device kind to number of devices per worker; None if the name does not state it."""
        return {self.kind: self.disks} | ({self.extra_kind: 1} if self.extra_kind else {})

    @property
    def hdfs(self) -> tuple[str, ...]:
        """Kinds of devices with HDFS blocks."""
        return self._kinds(ExtraDeviceUse.HDFS)

    @property
    def intermediate(self) -> tuple[str, ...]:
        """Kinds of devices with intermediate data. ALOJA's scripts take the first of several devices."""
        return self._kinds(ExtraDeviceUse.INTERMEDIATE)

    def _kinds(self, use: ExtraDeviceUse) -> tuple[str, ...]:
        if self.extra_kind is None:
            return (self.kind,)
        if self.extra_device_use is ExtraDeviceUse.BOTH:
            return (self.kind, self.extra_kind)
        return (self.extra_kind,) if self.extra_device_use is use else (self.kind,)

    def __str__(self) -> str:
        """Return the code in the form of :func:`parse_code`, without a number if it is unknown."""
        return self.single or f"{self.family}{self.disks or ''}"


def parse_code(code: str) -> LayoutCode | None:
    """Return the meaning of a code; None for any other name."""
    match = _CODE.fullmatch(code)
    if match is None or (match[2] and match[2] not in _FAMILIES):
        return None
    if match[1]:
        return LayoutCode(match[1] if match[1] in _FAMILIES else _SINGLE[match[1]], 1, match[1])
    return LayoutCode(match[2], int(match[3]))


def devices_of_code(code: str) -> dict[str, int]:
    """Return the number of devices of each kind per worker; empty for names that are not codes."""
    layout = parse_code(code)
    return {kind: count or 0 for kind, count in layout.devices.items()} if layout else {}


def parse_name(name: str) -> LayoutCode | None:
    """Return the meaning of a code or of a paper's spelling, in any case; else None."""
    layout = parse_prefix(name)
    return layout[0] if layout and not layout[1] else None


def parse_prefix(name: str) -> tuple[LayoutCode, str] | None:
    """Return the layout with which ``name`` begins, and the remaining name: ``HD5, replication 1`` has both."""
    if (layout := parse_code(name)) is not None:
        return layout, ""
    match = _PAPER_SPELLING.fullmatch(name.upper())
    if match is None:
        return None
    family = next(filter(None, match.groups()[:5]))
    all_disks = name.upper().startswith("ALL")
    disks: int | None = 1
    if match[6]:
        disks = int(match[6])
    elif all_disks or family in ("HY", "HS", "SH", "HN"):
        disks = None
    return LayoutCode("NVE" if family == "NV" else family, disks), match[7]


def devices_text(devices: Mapping[str, int | None]) -> str:
    """Return devices by kind as text, for example ``5 hdd + 1 ssd``. Unknown numbers are omitted."""
    return " + ".join(
        kind if count is None else f"{count} {kind}" for kind, count in sorted(devices.items()) if count != 0
    )


def devices_of_text(text: str) -> dict[str, int | None]:
    """Return the devices by kind from the text of :func:`devices_text`."""
    parts = (part.rpartition(" ") for part in text.split(" + ") if part)
    return {kind: int(count) if count else None for count, _, kind in parts}
