"""Test what-if questions on rented workers: their hardware, the speed of their cores, and their price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assay.execution.planning.plan_files.changed_plan import changed_plan, only_run
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.model import DeviceKind, Plan
from assay.questions.forecasts.whatif.core_speed import core_speed_uncertainty
from builders import make_run
from cluster_texts import rented_prices
from simulator_support import EXAMPLE, measured_repository, needs_simulator

RATES = (("worker.devices.local.read", "1.4GB/s"), ("worker.devices.local.write", "900MB/s"))
I4I = (("worker.type", "i4i.2xlarge"), *RATES)
PRICES = rented_prices("0.5", i4i_2xlarge="0.686")


def _altered(*changes: tuple[str, str]) -> Plan:
    return changed_plan(load_plan(EXAMPLE), {"layout": "HD2"}, "terasort", changes)


def _whatif(repository: Path, *changes: tuple[str, str], words: tuple[str, ...] = ()) -> Result:
    settings = [word for name, value in changes for word in ("--set", f"{name}={value}")]
    where = ("--where", "workload=terasort", "--where", "layout=HD2", "--repository", str(repository))
    return CliRunner().invoke(assay, ["whatif", *settings, *where, *words])


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_repository(tmp_path_factory.mktemp("rented") / "r").root


def test_workers_get_the_hardware_of_the_table_and_the_master_stays() -> None:
    plan = _altered(*I4I, ("workers.count", "8"))
    assert len(plan.cluster.workers) == 8
    worker = plan.cluster.workers[-1].type
    assert (worker.name, worker.cores, worker.memory_bytes) == ("i4i-2xlarge", 4, 64 * 2**30)
    assert worker.nic.rate_bits_per_s == pytest.approx(4.687e9)
    [disk] = worker.devices
    assert (disk.kind, disk.read_bytes_per_s, disk.write_bytes_per_s) == (DeviceKind.NVME, 1.4e9, 9e8)
    assert only_run(plan).configuration.layout.name == "NVE"
    [master] = [node for node in plan.cluster.nodes if node not in plan.cluster.workers]
    assert (master.type.name, master.type.cores) == ("master", 12)


def test_volumes_have_their_rate_with_credits_limited_by_the_instance() -> None:
    plan = _altered(("worker.type", "m7g.2xlarge"), ("worker.volumes", "gp3:1TB:2"))
    devices = plan.cluster.workers[0].type.devices
    # 312.5 MB/s of the instance for both volumes are more than 2 × 125 MiB/s.
    assert [device.read_bytes_per_s for device in devices] == [125 * 2**20] * 2
    assert only_run(plan).configuration.layout.name == "SS2"
    d3 = _altered(("worker.type", "d3.2xlarge"), ("worker.volumes", "gp3:1TB:2")).cluster.workers[0].type
    assert d3.devices[0].read_bytes_per_s == 125 * 2**20  # the link bursts to 350 MB/s
    [link] = d3.credits
    assert (link.kind, link.baseline_per_s, link.devices) == ("volume-link", 212.5e6, "gp3")


def test_a_stated_layout_and_later_changes_of_the_type_hold() -> None:
    hard = (("worker.type", "d3.2xlarge"), ("worker.devices.local.read", "190MB/s"))
    plan = _altered(*hard, ("worker.devices.local.write", "180MB/s"), ("layout", "HD4"), ("worker.memory", "32GB"))
    assert only_run(plan).configuration.layout.name == "HD4"
    assert plan.cluster.workers[0].type.memory_bytes == 32 * 10**9
    assert len(plan.cluster.workers[0].type.devices) == 6


@pytest.mark.parametrize(
    ("changes", "words", "hint"),
    [
        ((("worker.type", "i4i.3xlarg"),), "unknown instance type 'i4i.3xlarg'; did you mean", "assay instances list"),
        ((("worker.type", "i4i.2xlarge"),), "no source states the rate of the local disks", "local.write=RATE"),
        ((("worker.type", "m7i.2xlarge"),), "has no local disks", "worker.volumes=gp3:1TB:4"),
        ((*I4I, ("worker.cpu.credits", "60")), "has no CPU credits", ""),
        ((("worker.type", "t3.large"), ("worker.volumes", "gp3:1TB:1"), ("worker.cpu.credits", "-1")), "'-1'", "as 60"),
        ((("worker.cpu.credits", "60"),), "needs an instance type", "worker.type"),
        ((("worker.volumes", "gp3:1TB:4"),), "needs an instance type", "worker.type=m7i.2xlarge"),
        ((("worker.type", "m7i.2xlarge"), ("worker.volumes", "gp9:1TB:4")), "unknown volume type 'gp9'", "gp3:1TB:4"),
    ],
)
def test_missing_and_unknown_facts_are_refused_with_the_remedy(
    changes: tuple[tuple[str, str], ...], words: str, hint: str
) -> None:
    with pytest.raises(SpecificationError) as error:
        _altered(*changes)
    assert words in error.value.message
    assert hint in (error.value.hint or "")


def test_the_speed_of_a_core_of_another_or_unrecorded_architecture_is_not_known() -> None:
    arm = {"worker.type": "m7g.2xlarge"}
    x86 = make_run(environment={"nodes": {"w": {"kernel": {"machine": "x86_64"}}}})
    for run, changes, words in (
        (x86, arm, "measured on x86_64"),
        (make_run(environment={}), dict(I4I), "do not record their architecture"),
    ):
        with pytest.raises(SpecificationError) as error:
            core_speed_uncertainty([run], changes)
        assert words in error.value.message
        assert "worker.cpu.speed=RATIO" in (error.value.hint or "")
        assert core_speed_uncertainty([run], {**changes, "worker.cpu.speed": "1.2"}).sigma == 0
    graviton = make_run(environment={"nodes": {"w": {"kernel": {"machine": "aarch64"}}}})
    assert core_speed_uncertainty([graviton], arm).sigma > 0
    assert core_speed_uncertainty([graviton], {"layout": "SS2"}).sigma == 0


@needs_simulator
def test_rented_workers_have_a_price_and_an_uncertain_core_speed(measured: Path, tmp_path: Path) -> None:
    book = tmp_path / "prices.yaml"
    book.write_text(PRICES)
    changes = (*I4I, ("workers.count", "8"))
    priced = ("--prices", str(book))

    def row(*more: tuple[str, str]) -> dict[str, Any]:
        result = _whatif(measured, *changes, *more, words=(*priced, "--json"))
        assert result.exit_code == 0, result.exception
        [answer] = json.loads(result.output)["configurations"]
        return dict(answer)

    assumed, stated = row(), row(("worker.cpu.speed", "1"))
    assert assumed["cost_before"] is None
    assert "no price for the workers" in assumed["cost_unknown"]
    assert assumed["cost_after"] == pytest.approx((8 * 0.686 + 0.5) / 3600 * assumed["simulated_s"], abs=2e-6)
    assert any("is as fast as a measured core (assumed" in text for text in assumed["assumptions"])
    assert not any("measured core" in text for text in stated["assumptions"])
    assert assumed["high_s"] / assumed["low_s"] > stated["high_s"] / stated["low_s"] * 1.05
    assert assumed["lab_cores"]["changed"] == pytest.approx(2 * (8 * 4) / (3 * 6))
    text = _whatif(measured, *changes, words=priced).output
    assert text.startswith("With i4i.2xlarge workers, ")
    assert "- Extrapolated: 2.7 times as many workers as in the learned runs. " in text
    assert "The runs are of a lab at 1/20: the speedups are those of the described cluster" in text
    assert "- no cost as measured: price book 'rented'" in text


@needs_simulator
def test_an_arm_type_is_refused_by_the_command_until_the_ratio_is_stated(measured: Path) -> None:
    changes = (("worker.type", "m7g.2xlarge"), ("worker.volumes", "gp3:1TB:2"))
    refused = _whatif(measured, *changes)
    assert isinstance(refused.exception, AssayError)
    assert "arm64" in refused.exception.message
    assert _whatif(measured, *changes, ("worker.cpu.speed", "0.9")).exit_code == 0


@needs_simulator
def test_workers_without_cpu_credits_are_slower_and_the_answer_states_when(measured: Path) -> None:
    changes = (("worker.type", "t3.medium"), ("worker.volumes", "gp3:200GB:1"), ("worker.cpu.speed", "0.3"))

    def row(credits_: str) -> dict[str, Any]:
        result = _whatif(measured, *changes, ("worker.cpu.credits", credits_), words=("--json",))
        assert result.exit_code == 0, result.exception
        answer = json.loads(result.output)
        [configuration] = answer["configurations"]
        return {"notes": " ".join(answer["notes"]), **configuration}

    none, few, many = row("0"), row("0.2"), row("500")
    assert none["simulated_s"] > few["simulated_s"] > many["simulated_s"]
    use, _link = none["credits"]
    assert use["kind"] == "cpu"
    assert use["added_s"] == pytest.approx(none["simulated_s"] - many["simulated_s"], rel=0.15)
    assert "runs out of CPU credits after" in none["notes"]
    assert [use["empty_after_s"] for use in many["credits"]] == [None, None]
    assert "CPU credits" not in many["notes"]
    assert any("starts with no CPU credits (standard mode)" in text for text in none["assumptions"])
