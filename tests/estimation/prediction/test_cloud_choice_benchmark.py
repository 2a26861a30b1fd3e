"""The benchmark of choices between instance types: its reader of generic columns, and its arithmetic on a known law."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.estimation.prediction.features import numbers
from assay.foundation.errors import SpecificationError
from benchmark_support import benchmark

tables = benchmark("cloud_tables")
choice = benchmark("cloud_choice")

SPEED = {"m5.xlarge": 1.0, "c5.xlarge": 1.3, "r5.xlarge": 1.1, "m5.2xlarge": 2.0}
PRICES = "machineType,on_demand_price\nm5.xlarge,0.192\nc5.xlarge,0.17\nr5.xlarge,0.252\nm5.2xlarge,0.384\n"


def law_s(kind: str, count: int, gigabytes: int) -> float:
    """Return the time of the simulated job: a constant, and work that is shared by all machines."""
    return 20.0 + 40.0 * gigabytes / (SPEED[kind] * count)


def write_law(folder: Path, *, noise: float = 0.0) -> None:
    """Write a table of runs with a price list: times in milliseconds, sizes in GB, three repetitions."""
    random = np.random.default_rng(1)
    lines = ["node_count\tVM Type\tinput_size_GB\talgo_rounds\trep\texecution_time_ms\tcpu_util\tstatus"]
    for kind in SPEED:
        for count in (2, 4, 8):
            for gigabytes in (10, 40):
                for repetition in range(3):
                    time_ms = 1000 * law_s(kind, count, gigabytes) * float(np.exp(random.normal(0.0, noise)))
                    rounds = gigabytes // 10
                    lines.append(f"{count}\t{kind}\t{gigabytes}\t{rounds}\t{repetition}\t{time_ms:.0f}\t0.5\tdone")
    lines.append("2\tm5.xlarge\t10\t1\t9\t5\t0.1\tfailed")
    (folder / "rounds.tsv").write_text("\n".join(lines) + "\n")
    (folder / "prices.csv").write_text(PRICES)


def test_columns_are_recognised_by_name_and_unit(tmp_path: Path) -> None:
    """Separators, units, prices in another file, repetitions and failed runs are read; the utilisation is not."""
    write_law(tmp_path)
    runs = tables.read_folder(tmp_path, {})
    assert len(runs.table) == 4 * 3 * 2 * 3
    assert runs.table.values["duration_s"].min() == pytest.approx(law_s("m5.2xlarge", 8, 10), abs=0.001)
    assert set(numbers(runs.table, "data_bytes")) == {10e9, 40e9}
    assert set(runs.types) == set(SPEED)
    assert set(runs.workers) == {2.0, 4.0, 8.0}
    assert sorted(set(runs.price_usd_per_h)) == [0.17, 0.192, 0.252, 0.384]
    assert len(np.unique(runs.contexts)) == 2
    assert not any("util" in name for name in runs.table.columns)


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ("gross_runtime", "duration"),
        ("Elapsed Time (s)", "duration"),
        ("runtimeMs", "duration"),
        ("instance-type", "instance_type"),
        ("num_nodes", "workers"),
        ("data_size_MB", "data"),
        ("jobName", "workload"),
        ("price_per_hour", "price"),
    ],
)
def test_column_names_match_in_any_case_and_with_any_separator(header: str, field: str) -> None:
    """Case, separators and units do not matter."""
    assert tables.fields_of([header, "p_occurrence"], {}) == {header: field}


def test_map_overrides_the_rules(tmp_path: Path) -> None:
    """A column that no rule names is mapped by hand, and an unknown field is refused."""
    (tmp_path / "a.csv").write_text("kind,many,took,job\nm5.xlarge,2,100,a\nm5.xlarge,4,60,a\nc5.xlarge,2,80,a\n")
    runs = tables.read_folder(tmp_path, {"kind": "instance_type", "many": "workers", "took": "duration"})
    assert runs.workers.tolist() == [2.0, 4.0, 2.0]
    with pytest.raises(SpecificationError, match="a field is one of"):
        tables.read_folder(tmp_path, {"kind": "machine"})


def test_hardware_of_a_type_is_per_instance(tmp_path: Path) -> None:
    """Columns with the cores and memory of the whole cluster are divided by the number of instances."""
    rows = "\n".join(f"{n},odd.type,{n * 8},{n * 16000},{100 / n}" for n in (2, 4, 8))
    (tmp_path / "a.csv").write_text(f"instance_count,machine_type,slots,memory,runtime\n{rows}\n")
    runs = tables.read_folder(tmp_path, {})
    assert set(runs.table.values["cluster.cores"]) == {8.0}
    assert set(runs.table.values["cluster.memory_bytes"]) == {16e9}
    assert len(np.unique(runs.contexts)) == 1


def test_regret_is_zero_for_the_truth_and_known_for_the_worst_option(tmp_path: Path) -> None:
    """A method that knows the law has no regret and no error; one that inverts it has the largest regret."""
    write_law(tmp_path)
    runs = tables.read_folder(tmp_path, {})
    options = choice.Options.of(runs)
    truth = options.seconds

    def exact(_runs: object, _known: object, asked: np.ndarray) -> object:
        seconds = truth[options.of_run[asked]]
        return choice.Estimates(seconds, seconds * 0.99, seconds * 1.01)

    def inverted(_runs: object, _known: object, asked: np.ndarray) -> object:
        seconds = 1e6 / truth[options.of_run[asked]]
        return choice.Estimates(seconds, seconds, seconds)

    for by, count in (("type", 4), ("input", 2)):
        every = list(choice.splits(runs, options, by))
        assert len(every) == count
        for split in every:
            good = choice.outcome(runs, options, split, exact)
            assert max(*good.cost_regret, *good.time_regret, *good.errors) == 0.0
            assert all(good.held)
    (first, _) = choice.splits(runs, options, "input")
    bad = choice.outcome(runs, options, first, inverted)
    times = truth[first.is_left_out]
    assert bad.time_regret == [pytest.approx(times.max() / times.min() - 1.0)]
    assert not any(bad.held)


def test_ernest_recovers_a_law_of_its_form(tmp_path: Path) -> None:
    """Ernest's model fits a law of its form on types that it has seen."""
    write_law(tmp_path)
    runs = tables.read_folder(tmp_path, {})
    options = choice.Options.of(runs)
    small = next(iter(choice.splits(runs, options, "input")))
    seen_s = choice.by_ernest(runs, np.arange(len(runs.table)), options.row[small.is_left_out]).expected_s
    assert seen_s == pytest.approx(options.seconds[small.is_left_out], rel=1e-3)


def test_the_simulated_world_is_read_completely(tmp_path: Path) -> None:
    """Nine types with prices, four jobs and four numbers of instances; one seed makes one table."""
    world = benchmark("cloud_world")
    for folder in ("a", "b"):
        world.main(3, tmp_path / folder)
    runs = tables.read_folder(tmp_path / "a", {})
    assert len(runs.table) == 9 * 4 * 4
    assert len(runs.types) == 9
    assert np.isfinite(runs.price_usd_per_h).all()
    assert (tmp_path / "a" / "runs.csv").read_text() == (tmp_path / "b" / "runs.csv").read_text()


def test_inputs_that_differ_by_one_percent_are_one_case(tmp_path: Path) -> None:
    """Generated inputs vary by a few bytes from cluster to cluster."""
    rows = [f"m5.xlarge,{count},{187_590_000_000 + count * 1_000_000},{10 * count}" for count in (2, 4, 8)]
    other = [f"c5.xlarge,{count},{370_000_000_000 - count},{9 * count}" for count in (2, 4, 8)]
    (tmp_path / "join.csv").write_text("\n".join(["machine_type,nodes,input_size_bytes,runtime_s", *rows, *other]))
    runs = tables.read_folder(tmp_path, {})
    assert len(np.unique(runs.contexts)) == 2
    assert tables.with_merged_numbers(["0", "100", "101", "102", "", "x"]) == ["0", "100", "100", "102", "", "x"]
