"""Credits of rented machines: how much and how long a machine may exceed its baseline.

A bucket of credits is filled at the baseline rate and drained by use. While it has credits, the machine runs at its
full rate; while it is empty, at the baseline. Units: core-seconds of CPU, bytes of volumes; rates per second.

Source of CPU credits: Amazon EC2 User Guide, Key concepts for burstable performance instances. A credit is one minute
of one vCPU. An instance earns baseline × vCPUs × 60 credits per hour, and accrues at most the credits of
24 hours.

Source of unlimited mode: Amazon EC2 User Guide, Unlimited mode concepts and Unlimited mode examples. An instance
without credits spends surplus credits and keeps its full speed. Credits that it earns later pay back the surplus.
Surplus above the credits of 24 hours is charged at once, and the rest when the instance ends, at a flat price per
vCPU-hour.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class CreditKind(StrEnum):
    """The resource that credits pay for."""

    CPU = "cpu"
    VOLUMES = "volumes"
    """The network volumes of a machine."""
    VOLUME_LINK = "volume-link"
    """The link of a machine to its network volumes."""

    @property
    def text(self) -> str:
        """The name of the credits in messages."""
        return _TEXTS[self]


_TEXTS = {
    CreditKind.CPU: "CPU credits",
    CreditKind.VOLUMES: "credits of its volumes",
    CreditKind.VOLUME_LINK: "burst of its link to volumes",
}


@dataclass(frozen=True, slots=True)
class CreditBucket:
    """The credits of one machine for one resource."""

    kind: CreditKind
    baseline_per_s: float
    """Rate at which credits are earned, and the rate of the resource without credits."""
    start: float
    """Credits at the start of a job."""
    limit: float
    """Maximum number of credits."""
    devices: str = ""
    """Group of the devices that use credits of volumes: ``gp3`` or ``local``; empty: all devices."""
    vcpus_per_core: float | None = None
    """vCPUs that a core in use occupies; None if unknown, and for credits other than CPU credits."""
    is_unlimited: bool = False
    """Whether the machine spends surplus credits, and keeps its full speed, when it has used up its credits."""

    def applies_to(self, device: str) -> bool:
        """Return whether transfers of this device use the credits."""
        return not self.devices or re.fullmatch(re.escape(self.devices) + r"[0-9]*", device) is not None

    @property
    def surplus_max(self) -> float:
        """Surplus credits that later earnings may pay back: those of 24 hours. Further credits are charged at once."""
        return self.baseline_per_s * ACCRUAL_S

    @property
    def is_earned(self) -> bool:
        """Whether use below the baseline adds credits. The burst of a link is granted once a day."""
        return self.kind is not CreditKind.VOLUME_LINK

    def scaled(self, scale: float, cpu_scale: float) -> "CreditBucket":
        """Return the bucket in a lab of this scale. ``cpu_scale``: cores of the lab for each core of a machine."""
        if self.kind is CreditKind.CPU:
            scale = cpu_scale
        if scale == 1:
            return self
        return replace(
            self, baseline_per_s=self.baseline_per_s * scale, start=self.start * scale, limit=self.limit * scale
        )


@dataclass(frozen=True, slots=True)
class CreditUse:
    """How a run used one kind of credits. Times are in seconds from the start of the run."""

    kind: CreditKind
    empty_after_s: float | None
    """When the credits of a worker first limited the run; None: never."""
    added_s: float
    """Time that the empty bucket added to the run."""
    surplus_charged: float = 0.0
    """Surplus credits of a worker that were charged at once, in core-seconds."""
    surplus_owed: float = 0.0
    """Surplus credits of a worker that are not paid back at the end of the run, in core-seconds."""

    @property
    def is_empty(self) -> bool:
        """Whether the credits were used up and limited the run."""
        return self.empty_after_s is not None


CPU_BASELINES: Mapping[str, float] = {
    "t2.nano": 0.05,
    "t2.micro": 0.1,
    "t2.small": 0.2,
    "t2.medium": 0.2,
    "t2.large": 0.3,
    "t2.xlarge": 0.225,
    "t2.2xlarge": 0.17,
    **{
        f"{family}.{size}": share
        for family in ("t3", "t3a", "t4g")
        for size, share in (
            ("nano", 0.05),
            ("micro", 0.1),
            ("small", 0.2),
            ("medium", 0.2),
            ("large", 0.3),
            ("xlarge", 0.4),
            ("2xlarge", 0.4),
        )
    },
}
"""Instance type to the baseline of each of its vCPUs, as a share of its full rate."""
LAUNCH_CREDITS: Mapping[str, float] = {"t2": 30.0}
"""Family to the credits per vCPU of a new instance in standard mode (Amazon EC2 User Guide, Standard mode concepts).
Other families start without credits."""
CREDIT_S = 60.0
"""Seconds of one vCPU that a credit pays for."""
ACCRUAL_S = 86400.0
"""Maximum time for which an instance accrues credits, in seconds."""


def cpu_bucket(instance_type: str, cores: int, vcpus: int, credits_: float | None = None) -> CreditBucket | None:
    """Return the CPU credits of an instance in standard mode, in core-seconds; None if its baseline is not known.

    ``credits_``: its credits at the start of a job; None: those of a new instance. A core in use occupies all its
    vCPUs.
    """
    share = CPU_BASELINES.get(instance_type)
    if share is None:
        return None
    if credits_ is None:
        credits_ = LAUNCH_CREDITS.get(instance_type.split(".", 1)[0], 0.0) * vcpus
    start = credits_ * CREDIT_S * cores / vcpus
    limit = max(start, share * cores * ACCRUAL_S)
    return CreditBucket(CreditKind.CPU, share * cores, start, limit, vcpus_per_core=vcpus / cores)
