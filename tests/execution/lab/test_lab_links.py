"""Test links of a running lab: temporary rates, restored also after assay was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from assay.execution.lab.commands import run
from assay.execution.lab.lifecycle import Lab, remove
from assay.execution.lab.links import CHANGED_RATES_FILE, LabLinks
from assay.execution.lab.state import lab_directory
from assay.foundation.errors import LabError
from lab_support import SCALE, require_lab, small_cluster, unique_name

pytestmark = pytest.mark.lab
FULL_RATE = 2e9 * SCALE


@pytest.fixture(scope="module")
def name() -> Iterator[str]:
    require_lab()
    unique = unique_name("links")
    Lab.up(small_cluster(unique), name=unique, persistent=True).detach()
    yield unique
    remove(unique)


def test_links_get_another_rate_at_both_ends_and_return_to_the_original(name: str) -> None:
    lab = Lab.attach(name)
    assert lab.links.shape(50e6) == {"master": 50e6, "worker": 50e6}
    assert set(rates(name)) == {50e6}
    assert lab.links.shape(10e9) == {"master": 10e9, "worker": 10e9}
    assert lab.links.shape(None) == {"master": FULL_RATE, "worker": FULL_RATE}
    assert set(rates(name)) == {FULL_RATE}
    lab.detach()


def test_a_lab_left_by_a_dead_process_has_its_links_restored(name: str) -> None:
    killed = Lab.attach(name)
    killed.links.shape(30e6)
    killed._lock.release()  # as the kernel does when a process is killed
    assert (lab_directory(name) / CHANGED_RATES_FILE).exists()
    assert set(rates(name)) == {30e6}
    lab = Lab.attach(name)
    assert set(rates(name)) == {FULL_RATE}
    assert not (lab_directory(name) / CHANGED_RATES_FILE).exists()
    lab.detach()


def test_detaching_a_lab_restores_the_described_rates(name: str) -> None:
    lab = Lab.attach(name)
    lab.links.shape(30e6)
    lab.detach()
    assert set(rates(name)) == {FULL_RATE}


def test_a_rate_that_the_kernel_does_not_have_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.attach(name)
    monkeypatch.setattr(LabLinks, "_apply", lambda *_: None)
    with pytest.raises(LabError, match="should have 3e"):
        lab.links.shape(30e6)
    monkeypatch.undo()
    lab.detach()


def rates(name: str) -> list[float]:
    """Return the rates that tc shows at both ends of both links, in bits/s."""
    ends = []
    for namespace in (f"assay-{name}.switch", f"assay-{name}-master", f"assay-{name}-worker"):
        shown = json.loads(run(["tc", "-j", "-n", namespace, "qdisc", "show"]))
        ends += [8.0 * shaper["options"]["rate"] for shaper in shown if shaper["kind"] == "tbf"]
    assert len(ends) == 4
    return ends
