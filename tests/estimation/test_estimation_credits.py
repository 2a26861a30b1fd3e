"""Test burst credits: hand-computed runs, bounds and monotony, and the documented buckets of volumes and machines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.estimation.simulator.credits import time_with_credits, typical_use, uses_over_time, with_credits
from assay.estimation.simulator.process import SimulationResult
from assay.foundation.errors import SpecificationError
from assay.model.clusters.credits import CPU_BASELINES, CreditBucket, CreditKind, cpu_bucket
from assay.model.clusters.volume_type import VOLUME_TYPES
from assay.specs.instances import parse_volumes, shipped_instances

MIB, GIB, TIB = 2**20, 2**30, 2**40
CPU = CreditBucket(CreditKind.CPU, baseline_per_s=1.0, start=60.0, limit=1000.0)


def _time(use: list[float], *buckets: CreditBucket, seconds: float = 10.0) -> float:
    """Return the time of a run with these uses per second of each bucket, in intervals of ``seconds``."""
    uses = np.array([[rate * seconds for rate in use]] * len(buckets))
    return time_with_credits(np.full(len(use), seconds), uses, buckets)[0]


def test_credits_that_last_the_whole_run_do_not_change_its_time() -> None:
    time_s, [use] = time_with_credits(np.array([20.0]), np.array([[4.0 * 20]]), [CPU])
    assert time_s == pytest.approx(20)  # it drains at 3 per second, and 60 credits last 20 s
    assert (use.empty_after_s, use.added_s) == (None, 0)


def test_the_work_after_the_last_credit_takes_use_over_baseline_times_as_long() -> None:
    # 100 s of work at 4 cores: 60 / (4 - 1) = 20 s at the full rate, then 80 s of work at a quarter of it.
    time_s, [use] = time_with_credits(np.full(10, 10.0), np.full((1, 10), 40.0), [CPU])
    assert time_s == pytest.approx(20 + 80 * 4)
    assert use.empty_after_s == pytest.approx(20)
    assert use.added_s == pytest.approx(time_s - 100)


def test_idle_time_earns_credits_up_to_the_limit() -> None:
    # 60 credits, 30 s idle: 90; 90 / 3 = 30 s at the full rate. With a limit of 75 it lasts 25 s.
    assert _time([0, 0, 0, 4, 4, 4], CPU) == pytest.approx(60)
    assert _time([0, 0, 0, 4, 4, 4], replace(CPU, limit=75.0)) == pytest.approx(30 + 25 + 5 * 4)


def test_the_burst_of_a_link_is_not_earned_again() -> None:
    link = CreditBucket(CreditKind.VOLUME_LINK, 1.0, 60.0, 60.0)
    assert _time([4, 0, 0, 4, 4], link) == pytest.approx(10 + 20 + 10 + 10 * 4)


def test_of_two_empty_buckets_the_slower_one_counts() -> None:
    volumes = CreditBucket(CreditKind.VOLUMES, 2.0, 0.0, 60.0)
    uses = np.array([[4.0 * 10], [4.0 * 10]])
    time_s, [cpu, of_volumes] = time_with_credits(np.array([10.0]), uses, [replace(CPU, start=0.0), volumes])
    assert time_s == pytest.approx(40)
    assert cpu.added_s == pytest.approx(30)
    assert of_volumes.added_s == 0


rates = st.floats(0, 50)
amounts = st.floats(0, 5000)


@st.composite
def runs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[CreditBucket]]:
    seconds = np.array(draw(st.lists(st.floats(0.1, 60), min_size=1, max_size=8)))
    kinds = draw(st.lists(st.sampled_from(CreditKind), min_size=1, max_size=3, unique=True))
    uses = np.array([[draw(rates) * s for s in seconds] for _ in kinds])
    buckets = []
    for kind in kinds:
        start = draw(amounts)
        buckets.append(CreditBucket(kind, draw(st.floats(0.1, 30)), start, start + draw(amounts)))
    return seconds, uses, buckets


@given(runs(), amounts)
def test_credits_never_make_a_run_faster_and_more_credits_never_make_it_slower(
    run: tuple[np.ndarray, np.ndarray, list[CreditBucket]], more: float
) -> None:
    seconds, uses, buckets = run
    time_s, credit_uses = time_with_credits(seconds, uses, buckets)
    full_s = float(seconds.sum())
    assert time_s >= full_s * (1 - 1e-9)
    assert sum(use.added_s for use in credit_uses) == pytest.approx(time_s - full_s, rel=1e-6, abs=1e-6)
    none, _ = time_with_credits(seconds, uses, [replace(bucket, start=0.0, limit=0.0) for bucket in buckets])
    assert time_s <= none * (1 + 1e-6)
    for index, bucket in enumerate(buckets):
        larger = list(buckets)
        larger[index] = replace(bucket, start=bucket.start + more, limit=bucket.limit + more)
        assert time_with_credits(seconds, uses, larger)[0] <= time_s * (1 + 1e-6)
        faster = list(buckets)
        faster[index] = replace(bucket, baseline_per_s=bucket.baseline_per_s + more)
        assert time_with_credits(seconds, uses, faster)[0] <= time_s * (1 + 1e-6)


@given(runs())
def test_without_credits_each_interval_takes_its_use_over_the_baseline(
    run: tuple[np.ndarray, np.ndarray, list[CreditBucket]],
) -> None:
    seconds, uses, buckets = run
    empty = [replace(bucket, start=0.0, limit=0.0) for bucket in buckets]
    at_baseline = [use / bucket.baseline_per_s for use, bucket in zip(uses, buckets, strict=True)]
    expected = np.maximum(seconds, np.max(at_baseline, axis=0)).sum()
    assert time_with_credits(seconds, uses, empty)[0] == pytest.approx(expected, rel=1e-6)


@given(runs(), amounts)
def test_unlimited_machines_keep_their_speed_and_their_surplus_is_the_use_that_is_not_earned(
    run: tuple[np.ndarray, np.ndarray, list[CreditBucket]], more: float
) -> None:
    seconds, uses, buckets = run
    [use_per_interval, bucket] = uses[:1], replace(buckets[0], kind=CreditKind.CPU, is_unlimited=True)
    time_s, [use] = time_with_credits(seconds, use_per_interval, [bucket])
    assert time_s == pytest.approx(float(seconds.sum()))
    assert (use.empty_after_s, use.added_s) == (None, 0.0)
    surplus = use.surplus_charged + use.surplus_owed
    used, earned = float(use_per_interval.sum()), bucket.baseline_per_s * time_s
    above = np.maximum(0.0, use_per_interval[0] - bucket.baseline_per_s * seconds).sum()
    assert max(0.0, used - earned - bucket.start) <= surplus + 1e-6  # the limit of the balance may waste credits
    assert surplus <= above + 1e-6
    assert use.surplus_owed <= bucket.surplus_max * (1 + 1e-9)
    _, [limited_use] = time_with_credits(seconds, use_per_interval, [replace(bucket, is_unlimited=False)])
    if not limited_use.is_empty and above:
        assert surplus == pytest.approx(0, abs=1e-6)  # a run that standard mode does not slow down costs nothing
    for richer in (
        replace(bucket, start=bucket.start + more, limit=bucket.limit + more),
        replace(bucket, baseline_per_s=bucket.baseline_per_s + more),
    ):
        _, [less] = time_with_credits(seconds, use_per_interval, [richer])
        assert less.surplus_charged + less.surplus_owed <= surplus + 1e-6


def test_surplus_credits_are_charged_as_in_the_example_of_the_user_guide() -> None:
    """Amazon EC2 User Guide, Unlimited mode examples, example 1: the days of a t3.nano of two vCPUs, in credits."""
    bucket = cpu_bucket("t3.nano", 1, 2)
    assert bucket is not None
    in_credits = 60 / 2  # core-seconds of a credit
    nano = replace(bucket, is_unlimited=True)
    assert nano.surplus_max / in_credits == pytest.approx(144)
    days = [(24, 0.0), (12, 0.025), (24, 0.07), (12, 0.025), (5, 1.0)]
    for more, owed in (([], 144), ([(13, 0.05)], 144), ([(13, 0.05), (24, 0.0)], 0)):
        hours, loads = np.array([*days, *more]).T
        _, [use] = time_with_credits(hours * 3600, (hours * 3600 * loads)[None, :], [nano])
        assert use.surplus_owed / in_credits == pytest.approx(owed, abs=1e-6)
        assert use.surplus_charged / in_credits == pytest.approx(304, abs=0.5)  # the guide rounds 303.6


def test_use_is_the_mean_over_workers_of_the_traces() -> None:
    tree = {
        "trace_t_s": [0.0, 1.0, 1.5],
        "traces": [
            {"node": "w1", "subject": "cpu", "metric": "user_s", "values": [0, 2, 3]},
            {"node": "w2", "subject": "cpu", "metric": "user_s", "values": [0, 0, 1]},
            {"node": "w1", "subject": "disk:gp31", "metric": "read_bytes", "values": [0, 10, 10]},
            {"node": "w2", "subject": "disk:gp32", "metric": "write_bytes", "values": [0, 0, 30]},
            {"node": "w2", "subject": "disk:gp31", "metric": "busy_s", "values": [0, 1, 1]},
            {"node": "w2", "subject": "disk:local1", "metric": "read_bytes", "values": [0, 500, 900]},
        ],
    }
    seconds, uses = uses_over_time(tree, [CPU, replace(CPU, kind=CreditKind.VOLUMES, devices="gp3")], 2)
    assert seconds.tolist() == [1.0, 0.5]
    assert uses.tolist() == [[1.0, 1.0], [5.0, 15.0]]
    result = SimulationResult(1.5, {}, (), tree)
    slowed = with_credits(result, [replace(CPU, start=0.0)], 2)
    assert slowed.duration_s == pytest.approx(1 + 1)  # the second half second uses 2 cores of a baseline of 1
    assert "traces" not in slowed.tree
    assert with_credits(result, [], 2) is result
    [use] = typical_use([slowed, slowed, slowed], 2.0)
    assert (use.kind, use.empty_after_s, use.added_s) == (CreditKind.CPU, 2.0, 1.0)
    free = with_credits(result, [replace(CPU, start=0.1, is_unlimited=True)], 2)
    assert free.duration_s == result.duration_s
    [use] = typical_use([free, free], 2.0)
    assert use.surplus_owed == pytest.approx(2 * 0.4)  # it uses 2 core-seconds, earns 1.5, and has 0.1


def test_a_volume_has_the_rates_of_the_size_that_holds_it() -> None:
    premium = VOLUME_TYPES["premium-ssd"]
    rates = [(premium.bytes_per_s(gib * GIB), premium.iops(gib * GIB)) for gib in (1, 128, 129, 1024, 1025, 40_000)]
    assert rates == [(25e6, 120), (100e6, 500), (125e6, 1100), (200e6, 5000), (250e6, 7500), (900e6, 20_000)]
    bucket = premium.bucket(100 * GIB, 2)
    assert bucket is not None
    assert bucket.start / (2 * 170e6 - bucket.baseline_per_s) == pytest.approx(1800)  # 30 minutes at the full rate
    assert premium.bucket(TIB, 1) is None  # P30 and above have no credits
    assert premium.burst_bytes_per_s(TIB) == premium.bytes_per_s(TIB)
    standard, balanced = VOLUME_TYPES["pd-standard"], VOLUME_TYPES["hyperdisk-balanced"]
    assert standard.bytes_per_s(1000 * GIB) == pytest.approx(120 * MIB)
    assert (standard.bytes_per_s(10 * TIB), standard.iops(1000 * GIB)) == (400 * MIB, 750)
    assert (balanced.bytes_per_s(TIB), balanced.iops(TIB), balanced.bucket(TIB, 1)) == (140 * MIB, 3000, None)


@pytest.mark.parametrize("name", VOLUME_TYPES)
@given(st.integers(GIB, 60 * TIB), st.integers(GIB, 60 * TIB))
def test_larger_volumes_and_volumes_with_credits_are_never_slower(name: str, first: int, second: int) -> None:
    volume, (small, large) = VOLUME_TYPES[name], sorted((first, second))
    assert volume.bytes_per_s(small) <= volume.bytes_per_s(large)
    assert volume.iops(small) <= volume.iops(large)
    assert volume.burst_bytes_per_s(small) >= volume.bytes_per_s(small)


def test_volumes_have_the_documented_bursts_and_buckets() -> None:
    gp2, st1, sc1 = (VOLUME_TYPES[name] for name in ("gp2", "st1", "sc1"))
    assert VOLUME_TYPES["gp3"].bucket(TIB, 1) is None
    assert (gp2.iops(100 * GIB), gp2.burst_iops(100 * GIB), gp2.iops(20 * GIB)) == (300, 3000, 100)
    bucket = gp2.bucket(100 * GIB, 1)
    assert bucket is not None
    # 5.4 million requests at 3,000 requests per second, of which 300 are earned: 2,000 s.
    assert bucket.start / (3000 * 256 * 1024 - bucket.baseline_per_s) == pytest.approx(2000)
    assert gp2.burst_bytes_per_s(100 * GIB) == 128 * MIB
    assert gp2.bytes_per_s(TIB) == gp2.burst_bytes_per_s(TIB) == 250 * MIB
    assert gp2.bucket(TIB, 1) is None
    assert (st1.burst_bytes_per_s(TIB), st1.burst_bytes_per_s(4 * TIB)) == (250 * MIB, 500 * MIB)
    assert (sc1.burst_bytes_per_s(TIB), sc1.burst_bytes_per_s(16 * TIB)) == (80 * MIB, 250 * MIB)
    two = st1.bucket(2 * TIB, 3)
    assert two == CreditBucket(CreditKind.VOLUMES, 3 * 80 * MIB, 6 * TIB, 6 * TIB)


@pytest.mark.parametrize(
    ("name", "earned_per_h", "limit"),
    [("t2.micro", 6, 144), ("t2.2xlarge", 81.6, 1958.4), ("t3.large", 36, 864), ("t3a.2xlarge", 192, 4608)],
)
def test_instances_earn_the_documented_cpu_credits(name: str, earned_per_h: float, limit: float) -> None:
    instance = shipped_instances()[name]
    bucket = cpu_bucket(name, instance.cores, instance.vcpus)
    assert bucket is not None
    credits_per_core_s = instance.vcpus / instance.cores / 60
    assert bucket.baseline_per_s * 3600 * credits_per_core_s == pytest.approx(earned_per_h)
    assert bucket.limit * credits_per_core_s == pytest.approx(limit)
    assert bucket.start * credits_per_core_s == (30 * instance.vcpus if name.startswith("t2") else 0)


def test_every_burstable_type_has_a_baseline_and_a_stated_balance_counts() -> None:
    types = shipped_instances()
    assert {name for name, instance in types.items() if instance.burstable} == set(CPU_BASELINES)
    [cpu] = types["t3.2xlarge"].credits(None, cpu_credits=100)
    assert cpu.start == 100 * 60 / 2  # a core has two vCPUs
    assert types["m7i.2xlarge"].credits(None) == ()


@pytest.mark.parametrize(("iops", "mib_per_s"), [(100, 25.6), (10_000, 2560), (15_625, 4000), (256_000, 4000)])
def test_provisioned_volumes_have_the_published_rates(iops: int, mib_per_s: float) -> None:
    # 0.256 MiB/s per provisioned IOPS; 4,000 MiB/s from 15,625 IOPS on.
    rate, given = parse_volumes(f"io2:1TiB:1:{iops}", "here").full_rate
    assert rate / MIB == pytest.approx(mib_per_s)
    assert given == iops


def test_an_instance_limits_provisioned_volumes() -> None:
    volumes = parse_volumes("io2:4GiB:2:4000", "here")  # 1,000 IOPS per GiB
    instance = shipped_instances()["m7i.2xlarge"]
    assert instance.volume_iops is not None
    assert instance.volume_rate(volumes)[1] == min(4000, instance.volume_iops // 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("io2:1TB:4", "need their provisioned IOPS"),
        ("io2:4GiB:1:4001", "100 to 4,000 IOPS"),
        ("io2:1TiB:1:256001", "100 to 256,000 IOPS"),
        ("io2:1TiB:1:99", "100 to 256,000 IOPS"),
        ("io2:3GiB:1:100", "4 GiB to 64 TiB"),
        ("io2:65TiB:1:100", "4 GiB to 64 TiB"),
        ("io2:1TB:1:many", "many"),
        ("gp3:1TB:1:4000", "no provisioned IOPS"),
    ],
)
def test_provisioned_volumes_outside_the_published_limits_are_refused(text: str, problem: str) -> None:
    with pytest.raises(SpecificationError, match=problem):
        parse_volumes(text, "here")


def test_the_link_to_volumes_bursts_for_half_an_hour() -> None:
    instance = shipped_instances()["m7i.2xlarge"]
    [link] = instance.credits(parse_volumes("gp3:1TB:4", "here"))
    assert link.kind is CreditKind.VOLUME_LINK
    assert instance.volume_bytes_per_s is not None
    assert instance.volume_burst_bytes_per_s is not None
    assert link.start == (instance.volume_burst_bytes_per_s - instance.volume_bytes_per_s) * 1800
    assert instance.credits(parse_volumes("gp3:1TB:1", "here")) == ()  # one volume is slower than the baseline


def test_a_lab_scales_bytes_and_not_cpu() -> None:
    volumes = CreditBucket(CreditKind.VOLUMES, 100.0, 1000.0, 2000.0)
    assert volumes.scaled(0.1, 0.5) == CreditBucket(CreditKind.VOLUMES, 10.0, 100.0, 200.0)
    assert CPU.scaled(0.1, 1.0) == CPU
    assert CPU.scaled(0.1, 0.5).baseline_per_s == 0.5 * CPU.baseline_per_s
