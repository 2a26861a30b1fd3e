"""Test sizes from logs: limits, memory and its risk, shapes with money, and logs from which nothing can be sized."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import assay as api
import spark_samples
from assay.analysis.run_profile.limits.job_limits import JobLimit, job_shares
from assay.analysis.run_profile.limits.loads import Resource
from assay.analysis.run_profile.memory_need import PROCESSES_MIN, memory_need
from assay.execution.planning.plan_files.hardware_file import catalogue_of, load_catalogue
from assay.foundation.errors import AssayError, FormatError, SpecificationError
from assay.model import TaskAttempt, foreign_run
from assay.questions.recommendation.instances import CatalogueRequest, catalogue_text
from assay.questions.recommendation.job_logs import read_job_logs
from assay.questions.recommendation.size import SizeRequest, describe_job
from assay.questions.recommendation.size_sentences import (
    SizeCommands,
    first_sentences,
    limit_sentence,
    memory_sentences,
    missing_sentences,
    shapes_title,
)
from assay.specs.prices import load_prices
from assay.store import Repository
from command import invoke
from paths import EXAMPLES, ROOT
from simulator_support import needs_simulator

LOGS = EXAMPLES / "logs" / "terasort"
COMMANDS = SizeCommands.without_examples(["my log.jhist"])
REAL = ROOT.parent / "shared" / "data"
MIB = 2**20


def _task(number: int, start_s: float, end_s: float, cpu_s: float | None, gc_s: float | None = 0.0) -> TaskAttempt:
    name = f"t{number}"
    times = (start_s, end_s, None, None)
    return TaskAttempt("j", name, name, "map", "n1", "succeeded", *times, 0, 0, 0, 0, None, cpu_s, gc_s)


@pytest.mark.parametrize(
    ("tasks", "limit"),
    [
        ([_task(n, 0, 100, 90) for n in range(4)], JobLimit.CPU),
        ([_task(n, 0, 100, 20) for n in range(4)], JobLimit.WAITING),
        ([_task(n, 0, 100, 20, 60) for n in range(4)], JobLimit.COLLECTION),
        ([_task(n, 0, 10, 9) for n in range(4)], JobLimit.DRIVER),
        ([_task(0, 0, 100, 90), *(_task(n, 0, 10, 9) for n in range(1, 8))], JobLimit.SKEW),
        ([_task(0, 0, 60, 50), _task(1, 40, 100, 50), *(_task(n, 50, 55, 4) for n in range(2, 6))], JobLimit.SKEW),
        ([_task(n, 0, 100, None) for n in range(4)], JobLimit.UNKNOWN),
    ],
)
def test_the_limit_is_what_most_capacity_went_to(tasks: list[TaskAttempt], limit: JobLimit) -> None:
    shares = job_shares(foreign_run(workload="x", duration_s=100.0), tasks)
    assert shares.limit is limit
    if shares.cpu_share is not None:
        parts = (shares.idle_share, shares.cpu_share, shares.collection_share, shares.waiting_share)
        assert sum(part or 0.0 for part in parts) == pytest.approx(1.0)


def test_the_risk_of_memory_is_calibrated_and_less_data_is_never_surer() -> None:
    """Of jobs whose peaks are log-normal, at most the stated share needs more than the sufficient size."""
    chance = np.random.default_rng(1)
    exceeded = 0
    for _ in range(2000):
        peaks = np.exp(chance.normal(math.log(900 * MIB), 0.2, 24)).tolist()
        need = memory_need("map", peaks, None, 24)
        following = np.exp(chance.normal(math.log(900 * MIB), 0.2, 24)).max()
        exceeded += need.sufficient_bytes is None or following > need.sufficient_bytes
    assert exceeded / 2000 <= 0.02
    every = [(900 + step) * MIB for step in (0, 20, 40, 60, 80)]
    few, many = memory_need("map", every, 1500 * MIB, 5), memory_need("map", every * 10, 1500 * MIB, 5)
    assert few.sufficient_bytes is not None
    assert many.sufficient_bytes is not None
    assert few.request_risk is not None
    assert many.request_risk is not None
    assert few.sufficient_bytes >= many.sufficient_bytes
    assert few.request_risk > many.request_risk


def test_memory_without_a_metric_or_with_few_processes_has_no_risk() -> None:
    assert memory_need("map", [], 2**30, 4).peak_bytes is None
    few = memory_need("map", [2.0**29] * (PROCESSES_MIN - 1), 2**30, 4)
    assert (few.peak_bytes, few.request_risk, few.sufficient_bytes) == (2.0**29, None, None)


def test_the_shipped_logs_state_limit_and_memory() -> None:
    logs = read_job_logs([LOGS])
    answer = describe_job(logs, SizeRequest())
    assert (answer.job.name, answer.job.logs, answer.job.data_bytes) == ("TeraSort", 2, 100_000_000)
    assert limit_sentence(answer) == (
        "In the log, TeraSort's tasks spent 53.2 % of the time of 11 slots waiting for disks, network or a shared "
        "core; the log does not say which."
    )
    needs = {need.kind: need for need in answer.memory}
    assert needs.keys() == {"map", "reduce"}
    assert needs["map"].requested_bytes == 384 * MIB
    assert needs["map"].processes == 12
    assert all("Risk that a run needs more" in line for line in memory_sentences(answer))
    alone = read_job_logs([next(LOGS.glob("*0004.jhist.gz"))])
    assert alone.runs[0].run.parameters["mapreduce.map.memory.mb"] == "384", "the configuration next to it is read"


def _spark_log(tmp_path: Path, *more: Mapping[str, object]) -> Path:
    events = spark_samples.application()
    path = tmp_path / "application"
    path.write_bytes(spark_samples.log([*events[:-1], *map(dict, more), events[-1]]))
    return path


def test_a_streaming_application_is_refused(tmp_path: Path) -> None:
    event = {"Event": "org.apache.spark.sql.streaming.StreamingQueryListener$QueryStartedEvent", "id": "1"}
    with pytest.raises(FormatError, match="streaming application"):
        read_job_logs([_spark_log(tmp_path, event)])
    batch = read_job_logs([_spark_log(tmp_path)])
    assert batch.runs[0].run.engine == "spark"


def test_a_batch_of_a_stream_is_refused(tmp_path: Path) -> None:
    properties = {"spark.streaming.internal.batchTime": "1700000002000"}
    job = {"Event": "SparkListenerJobStart", "Job ID": 77, "Submission Time": 1700000002000, "Properties": properties}
    ended = {"Event": "SparkListenerJobEnd", "Job ID": 77, "Job Result": {"Result": "JobSucceeded"}}
    with pytest.raises(FormatError, match="streaming application"):
        read_job_logs([_spark_log(tmp_path, job, ended)])


def test_a_log_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    whole = _spark_log(tmp_path).read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    (tmp_path / "application").unlink()
    with pytest.raises(FormatError, match="no log of a finished job"):
        read_job_logs([cut])


def test_logs_of_two_jobs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="logs of 2 jobs"):
        read_job_logs([LOGS, _spark_log(tmp_path)])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--grow", "much"), "is not a growth"),
        (("--deadline", "1h"), "--deadline and --budget choose hardware"),
        (("--catalogue", "x.yaml"), "belong together"),
    ],
)
def test_wrong_options_are_refused(words: tuple[str, ...], message: str) -> None:
    refused = invoke("size", LOGS, *words)
    assert isinstance(refused.exception, AssayError)
    assert message in str(refused.exception)


def _hardware(tmp_path: Path) -> tuple[Path, Path]:
    types = ("m6id.2xlarge", "d3.2xlarge")
    rates = ("--disk-rates", "nvme=1.4GB/s:900MB/s", "--disk-rates", "hdd=190MB/s:190MB/s")
    made = invoke("instances", "catalogue", *types, "--count", "3-5", "--cpu-speed", "x86_64=1:0.6:1.6", *rates)
    catalogue, prices = tmp_path / "cloud.yaml", tmp_path / "prices.yaml"
    catalogue.write_text(made.stdout)
    type_options = [word for name in types for word in ("--type", name)]
    table = EXAMPLES / "logs" / "prices.csv"
    made = invoke("prices", "instances", table, "--region", "us-east-1", *type_options, "--date", "2026-11-27")
    prices.write_text(made.stdout)
    return catalogue, prices


@needs_simulator
def test_shapes_have_time_money_and_origin(tmp_path: Path) -> None:
    catalogue, prices = _hardware(tmp_path)
    files = ("--catalogue", catalogue, "--prices", prices, "--simulations", "6")
    words = ("size", LOGS, *files, "--deadline", "40min", "--budget", "$20/h", "--grow", "3x")
    values = json.loads(invoke(*words, "--json").stdout)
    assert values["why_none"] == ""
    first = values["shapes"][0]
    assert first["origin"] == "simulated"
    assert first["time_low_s"] < first["time_s"] < first["time_high_s"]
    assert first["job_cost"] == pytest.approx(first["rate_per_h"] * first["time_s"] / 3600)
    assert len({shape["levels"]["worker"] for shape in values["shapes"]}) == 2, "each kind of worker has a shape"
    answer = api.size(
        LOGS, catalogue=catalogue, prices=prices, simulations=6, deadline="40min", budget="$20/h", grow="3x"
    )
    assert answer.to_dict() == values
    text = invoke(*words).stdout
    assert text.startswith(answer.sentence)
    assert text.startswith("Unchecked estimate: "), "the simulated time differs by 2 or more from the log's"
    assert text.index("Assumptions") < text.index("Shapes: simulated"), "assumptions come before the table"
    assert first["interrupted_time_s"] is None
    assert "interrupted" not in text
    assert "Not in a log: traffic of disks and network" in text


TIED = """\
catalogue: disks
source: a test
workers:
  disk: {SHARED, devices: {hdd: {kind: hdd, count: 6, read: 190 MB/s, write: 190 MB/s, capacity: 2 TB}}}
  flash: {SHARED, devices: {ssd: {kind: nvme, count: 1, read: 1.4 GB/s, write: 1.2 GB/s, capacity: 2 TB}}}
""".replace("SHARED", "count: 4, cores: 4, cpu: {model: x, speed: 1}, memory: 64 GB, networks: {eth: 25 Gbit/s}")
TIED_PRICES = """\
prices: tied
currency: USD
date: 2026-11-27
source: a test
items:
  - {name: disk, price: $0.5, per: node-hour, node_type: disk}
  - {name: flash, price: FLASH, per: node-hour, node_type: flash}
  - {name: master, price: $0.5, per: master-hour}
  - {name: rest, price: $0, per: cluster-hour, covers: [devices, network]}
"""


@needs_simulator
@pytest.mark.parametrize(("price", "tied"), [("$0.5", 1), ("$0.6", 0)])
def test_machines_with_equal_time_and_cost_tie_and_both_limits_are_named(tmp_path: Path, price: str, tied: int) -> None:
    catalogue, prices = tmp_path / "tied.yaml", tmp_path / "prices.yaml"
    catalogue.write_text(TIED)
    prices.write_text(TIED_PRICES.replace("FLASH", price))
    answer = api.size(LOGS, catalogue=catalogue, prices=prices, simulations=4)
    first, second = answer.value.shapes[:2]
    assert answer.value.tied == (second.label,) * tied
    best = answer.sentence
    assert best.startswith(f"Unchecked estimate: {first.label}")
    assert (second.label in best) is bool(tied)
    assert all(shape.on_pareto_front for shape in answer.value.candidates[: 1 + tied]), "a tie is on the front"
    assert not any(shape.on_pareto_front for shape in answer.value.candidates[1 + tied :])
    limit_text = limit_sentence(answer.value)
    assert limit_text.startswith("In the log, TeraSort's tasks spent 53.2 % of the time")
    assert limit_text.endswith(
        " In the simulation of the cluster listed first, CPU limits the tasks for the longest time; the simulation "
        "leaves out the waiting in the log."
    )
    for limit in (Resource.NONE, "unknown"):
        unlimited = replace(answer.value, shapes=(replace(first, limit=limit),))
        assert limit_sentence(unlimited).endswith("there is no bottleneck.")
    ratio = answer.value.job.shares.duration_s / first.time_s
    assert ratio > 2
    assert answer.sentence == best, "the answer comes first, then why"
    limit, check = answer.notes[:2]
    assert limit == limit_text
    assert check.startswith("Check the simulated times before you rely on them: the job took 52 s in the log")
    assert f"for the same data, {ratio:.2g} times as fast." in check
    assert not any("compared with the logged 52 s" in line for line in answer.notes)
    near = replace(answer.value, shapes=(replace(first, time_s=40.0),))
    best, *others = first_sentences(near, COMMANDS)
    assert best.startswith("Best estimate: ")
    assert others == [limit_sentence(near)]
    assert [*missing_sentences(near, COMMANDS)][-1].endswith(
        "compared with the logged 52 s. To compare, copy examples/log-machines/catalogue.yaml to machines.yaml, "
        "describe the 3 nodes of the log in it, and run `assay size 'my log.jhist' --catalogue machines.yaml --prices "
        "examples/log-machines/prices.yaml` (`assay examples examples` writes the example files)."
    )
    slow = replace(answer.value, growth=2.0, shapes=(replace(first, time_s=520.0),))
    assert "takes 8 min 40 s for 2 times the data, 5 times as slow per byte." in [*first_sentences(slow, COMMANDS)][2]
    assert any(line.startswith("the waiting in the log (53.2 %) is not carried over") for line in answer.notes)


@needs_simulator
def test_the_shipped_catalogue_of_the_logs_machines_compares_simulated_and_logged_time() -> None:
    folder = EXAMPLES / "log-machines"
    files = folder / "catalogue.yaml", folder / "prices.yaml"
    answer = api.size(LOGS, catalogue=files[0], prices=files[1], simulations=4)
    (shape,) = answer.value.shapes
    assert int(shape.levels["workers"]) == answer.value.job.shares.nodes
    assert shape.time_low_s < answer.value.job.shares.duration_s < shape.time_high_s, "it holds the logged time"
    assert answer.notes[1] == (
        "If this is the cluster of the log, the simulation agrees with the log: it takes 49 s, the log 52 s (ratio "
        "0.95), and the 90 % interval contains the logged time."
    )
    assert not any("To compare" in note or "To find out" in note for note in answer.notes), "the comparison is made"
    slow = replace(answer.value, candidates=(shape,), shapes=(replace(shape, time_s=120, time_low_s=100),))
    text = list(first_sentences(slow, COMMANDS))[2]
    assert "does not agree with the log: it takes 2 min 00 s, the log 52 s (ratio 2.3" in text
    assert text.endswith("does not contain the logged time. Rely on neither times nor costs.")
    grown = replace(answer.value, growth=2.0)
    assert not any("If this is the cluster of the log" in line for line in first_sentences(grown, COMMANDS))
    best = answer.sentence
    assert best.startswith("Best estimate: ")
    assert "$4.00 per hour (3 workers at $1.00 and 1 master at $1.00)." in best, "the price has a master"
    parts = shape.parts
    assert 3 * parts.per_worker + parts.per_master == pytest.approx(shape.rate_per_h)
    assert not answer.value.states_kept_share, "there are no constraints"
    assert shapes_title(answer.value).endswith("90 % intervals")
    assert shapes_title(replace(answer.value, extrapolation=9.0)).endswith("ranges without a stated probability")


@needs_simulator
def test_prices_far_from_the_present_price_are_no_change_of_the_answer() -> None:
    folder = EXAMPLES / "instances"
    files = folder / "catalogue.yaml", folder / "prices.yaml"
    answer = api.size(LOGS, grow="20x", catalogue=files[0], prices=files[1], simulations=60).value
    changes = [change for change in answer.changes if change.kind == "price"]
    assert changes
    assert all(change.factor is not None and 0.1 <= change.factor <= 10 for change in changes)
    assert not any(change.now.startswith("$0 ") for change in changes), "a part that is included stays free"


def test_the_shipped_catalogue_of_instances_is_that_of_the_commands() -> None:
    """Only the texts that say that its rates and prices are examples differ."""
    types = ("m6id.2xlarge", "i4i.2xlarge", "d3.2xlarge")
    rates = ("nvme=1.4GB/s:900MB/s", "hdd=190MB/s:190MB/s")
    shipped = load_catalogue(EXAMPLES / "instances" / "catalogue.yaml")
    made = catalogue_of(catalogue_text(CatalogueRequest(types, "3-12", rates)))
    assert shipped.workers == made.workers
    assert shipped.assumptions[0] == made.assumptions[0]
    assert "examples" in shipped.assumptions[-1]
    book = load_prices(EXAMPLES / "instances" / "prices.yaml")
    listed = (EXAMPLES / "logs" / "prices.csv").read_text()
    amounts = {item.name: item.amount for item in book.items if item.node_type}
    assert amounts.keys() == set(types)
    assert all(f"{name},{amount}," in listed for name, amount in amounts.items())
    assert "example" in book.source


@needs_simulator
def test_interruptions_of_spot_instances_lengthen_the_job(tmp_path: Path) -> None:
    catalogue, prices = _hardware(tmp_path)
    answer = api.size(LOGS, grow="100x", interruptions="20 %/h", catalogue=catalogue, prices=prices, simulations=2)
    shape = answer.value.shapes[0]
    rate = -int(shape.levels["workers"]) * math.log(0.8) / 3600
    assert shape.interrupted_time_s is not None
    assert shape.interrupted_time_s == pytest.approx((math.exp(rate * shape.time_s) - 1) / rate)
    assert shape.interrupted_cost == pytest.approx(shape.job_cost * shape.interrupted_time_s / shape.time_s)
    assert any("If 20 %/h of its workers are interrupted" in line for line in answer.notes)
    with pytest.raises(SpecificationError, match="not a share of instances per hour"):
        api.size(LOGS, interruptions="often", catalogue=catalogue, prices=prices)


@needs_simulator
def test_a_budget_that_no_shape_keeps_is_reported(tmp_path: Path) -> None:
    catalogue, prices = _hardware(tmp_path)
    files = ("--catalogue", catalogue, "--prices", prices, "--simulations", "2")
    text = invoke("size", LOGS, *files, "--budget", "$0.10/h").stdout
    assert "No shape is recommended" in text
    refused = invoke("size", LOGS, *files, "--budget", "$20")
    assert isinstance(refused.exception, SpecificationError)
    assert "not a price per hour" in str(refused.exception)


@needs_simulator
def test_a_spark_log_gets_shapes_of_its_engine(tmp_path: Path) -> None:
    catalogue, prices = _hardware(tmp_path)
    log = _spark_log(tmp_path)
    answer = api.size(log, catalogue=catalogue, prices=prices, simulations=2).value
    assert answer.job.engine == "spark"
    assert answer.shapes
    assert not [text for text in answer.assumptions if "could not be simulated" in text]


@pytest.mark.skipif(not REAL.is_dir(), reason="the real logs are not available: NOT tested")
@pytest.mark.parametrize(
    "log", ["job-history", "spark-events/sparklens-local-1532512550423", "spark-events/event_log_1"]
)
def test_real_logs_are_read(log: str) -> None:
    answer = describe_job(read_job_logs([REAL / log]), SizeRequest())
    assert limit_sentence(answer).endswith(".")
    assert all(need.peak_bytes is None for need in answer.memory), "these logs have no metric of memory"


@needs_simulator
def test_old_prices_get_a_warning_on_stderr_and_their_date_in_the_assumptions(tmp_path: Path) -> None:
    catalogue, prices = _hardware(tmp_path)
    prices.write_text(prices.read_text().replace("2026-11-27", "2020-02-03"))
    answer = invoke("size", LOGS, "--catalogue", catalogue, "--prices", prices, "--simulations", "4")
    assert "are of 2020-02-03, more than a year ago" in answer.stderr
    assert "more than a year ago" not in answer.stdout
    assert "- prices: us-east-1-on-demand of 2020-02-03\n" in answer.stdout


def test_a_repository_is_named_as_one(tmp_path: Path) -> None:
    root = Repository.create(tmp_path / "my runs").root
    with pytest.raises(FormatError, match="this is a repository of runs") as refused:
        read_job_logs([root])
    assert f"`assay recommend --repository '{root}'`" in (refused.value.hint or "")
