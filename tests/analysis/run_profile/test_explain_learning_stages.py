"""Test that profiles of Spark workloads recover the stage graph and the cost per byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.estimation.profiles.learning import learned_profile
from assay.foundation.errors import SpecificationError
from assay.specs.profiles import load_profile, profile_text
from staged_samples import BYTE_S, DATA, GROWN, JVM_S, MAP_S_PER_BYTE, RESULT_S_PER_BYTE, watched_stages


def test_bytes_per_stage_are_learned_from_runs() -> None:
    learned = learned_profile([watched_stages() for _ in range(3)], "mine")
    first, last = learned.workloads["terasort"].stages
    assert learned.engine == "spark"
    assert (first.tasks, last.tasks) == ("splits", "reduces")
    assert (first.parents, last.parents) == ((), (0,))
    assert (first.read, first.shuffled, first.written) == pytest.approx((1.0, GROWN, 0.0))
    assert (last.read, last.shuffled, last.written) == pytest.approx((0.0, 0.0, 1.0))
    assert first.cpu_s_per_byte.value == pytest.approx(MAP_S_PER_BYTE, rel=0.01)
    assert last.cpu_s_per_byte.value == pytest.approx(RESULT_S_PER_BYTE, rel=0.01)
    assert last.memory == pytest.approx(45e6 * 4 / (GROWN * 1e8))
    assert learned.costs.client_start_s.value == pytest.approx(10.0)
    assert learned.costs.job_cpu_s.value == pytest.approx(JVM_S, rel=0.2)
    assert learned.costs.io_cpu_s_per_byte.value == pytest.approx(BYTE_S, rel=0.2)


def test_the_ratio_of_a_codec_is_learned_from_runs_with_and_without_it() -> None:
    both = learned_profile([watched_stages(), watched_stages(codec_left=0.4)], "mine").workloads["terasort"]
    assert both.compression["zstd"].value == pytest.approx(0.4)
    assert both.stages[0].shuffled == pytest.approx(GROWN)
    alone = learned_profile([watched_stages(codec_left=0.35)], "mine").workloads["terasort"]
    assert alone.compression["zstd"].n == 0, "a share that is usual, and no run tells"
    assert alone.stages[0].shuffled * alone.compression["zstd"].value == pytest.approx(GROWN * 0.35)


def test_a_file_keeps_the_stages_and_refuses_what_reads_from_later_ones(tmp_path: Path) -> None:
    learned = learned_profile([watched_stages() for _ in range(3)], "mine")
    text, file = profile_text(learned), tmp_path / "profile.yaml"
    file.write_text(text)
    again = load_profile(file)
    assert [stage.tasks for stage in again.workloads["terasort"].stages] == ["splits", "reduces"]
    assert profile_text(again) == text
    file.write_text(text.replace("parents: [0]", "parents: [1]"))
    with pytest.raises(SpecificationError, match="can read only shuffle files of earlier stages"):
        load_profile(file)


def test_only_runs_of_the_most_frequent_graph_are_learned() -> None:
    odd = watched_stages(stages=watched_stages().run.stages[:1])
    terasort = learned_profile([watched_stages(), odd, watched_stages()], "mine").workloads["terasort"]
    assert len(terasort.stages) == 2
    assert terasort.n == 2


def test_a_stage_with_few_bytes_has_cpu_costs_and_no_memory() -> None:
    whole = watched_stages().run.stages[0]
    small = replace(whole, read_bytes=DATA // 200, shuffle_write_bytes=0, peak_memory_bytes=64 * 2**20)
    [stage] = learned_profile([watched_stages(stages=(small,)) for _ in range(3)], "mine").workloads["terasort"].stages
    assert (stage.read, stage.shuffled) == (0.0, 0.0)
    assert stage.cpu_s_per_byte.value == pytest.approx(MAP_S_PER_BYTE, rel=0.01), "of each byte of the data"
    tiny = replace(watched_stages().run.stages[0], read_bytes=DATA // 50, peak_memory_bytes=64 * 2**20)
    [stage] = learned_profile([watched_stages(stages=(tiny,)) for _ in range(3)], "mine").workloads["terasort"].stages
    assert stage.memory == 0.0


def test_a_run_of_unknown_data_size_is_left_out() -> None:
    learned = learned_profile([watched_stages(), watched_stages(data_bytes=None)], "mine")
    assert (learned.learned.runs, learned.learned.excluded) == (1, 1)
    assert (
        learned.workloads["terasort"].stages == learned_profile([watched_stages()], "mine").workloads["terasort"].stages
    )
