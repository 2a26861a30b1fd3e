"""Every question of a repository, as asked from Python and by the command: tests compare all interfaces on them.

The repositories, and the JSON that the command prints, are made once for all worker processes of a test session.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.interfaces.python.answer import Answer
from assay.store import Repository
from builders import build_repository
from command import printed
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from learning import learning_runs
from made_once import made_once
from nightly import nightly_runs
from paths import EXAMPLES
from profile_support import add_run, profiled_repository
from simulator_support import measured_repository

BSC = EXAMPLES / "bsc-2015"
PRICES = str(BSC / "prices.yaml")
SANDISK = EXAMPLES / "sandisk-2014"
CATALOGUE = str(EXAMPLES / "hardware" / "catalogue.yaml")
PROFILED_RUN = "00000000-0000-7000-8000-000000000009"
LAB_PRICES = str(EXAMPLES / "lab" / "prices.yaml")
HARDWARE_PRICES = str(EXAMPLES / "hardware" / "prices.yaml")


def question_repositories(factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the repositories that the questions need, by name."""
    return {path.name: path for path in made_once(factory, "questions", _make_repositories).iterdir() if path.is_dir()}


def _make_repositories(folder: Path) -> None:
    printed("import", BSC / "measured" / "runs.csv", "--repository", folder / "bsc")
    printed("import", SANDISK / "measured" / "runs.csv", "--repository", folder / "sandisk")
    learned = Repository.create(folder / "learned")
    for number, run in enumerate(learning_runs(slots=(2, 4, 8))):
        if number % 5:  # some combinations are not measured
            learned.publish(run)
    watched = Repository.create(folder / "watched")
    watched.publish(hybrid_run(), tasks=hybrid_tasks(), trace=hybrid_trace())
    build_repository(folder / "nightly", nightly_runs())
    add_run(profiled_repository(folder / "profiled").store, 9, "HD2", 150, timed=True)


def simulated_repository(factory: pytest.TempPathFactory) -> Path:
    """Return the repository of which the questions in ``SIMULATED`` are asked."""
    return made_once(factory, "simulated", lambda folder: measured_repository(folder / "r")) / "r"


def command_json(question: Question, root: Path) -> Any:
    """Return the JSON of the question's command on the repository at ``root``; ``recommend`` needs no repository."""
    words = question.words if question.words[0] == "recommend" else (*question.words, "--repository", str(root))
    stored = root.parent / f"{hashlib.sha256(repr(words).encode()).hexdigest()}.json"
    if not stored.exists():
        new = stored.with_suffix(f".{os.getpid()}")
        new.write_text(printed(*words, "--json"), encoding="utf-8")
        new.rename(stored)
    return json.loads(stored.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Question:
    """A question from Python, with the command that asks the same."""

    ask: Callable[[assay.OpenedRepository], Answer[Any]]
    words: tuple[str, ...]
    repository: str = "bsc"

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return the name and the arguments of the call."""
        recorder = _CallRecorder()
        self.ask(recorder)  # type: ignore[arg-type]
        return recorder.call


class _CallRecorder:
    """Takes the place of a repository, and records a call with the names of its arguments."""

    def __init__(self) -> None:
        self.call: tuple[str, dict[str, Any]] = ("", {})

    def __getattr__(self, name: str) -> Callable[..., None]:
        def record(*values: object, **named: object) -> None:
            bound = inspect.signature(getattr(assay.OpenedRepository, name)).bind(self, *values, **named)
            arguments = dict(list(bound.arguments.items())[1:])
            self.call = (
                name,
                {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()},
            )

        return record


QUESTIONS: dict[str, Question] = {
    "runs": Question(lambda r: r.runs(), ("runs",)),
    "runs, selected": Question(
        lambda r: r.runs({"layout": "HD5"}, limit=2), ("runs", "--where", "layout=HD5", "--limit", "2")
    ),
    "questions": Question(lambda r: r.questions(prices=PRICES), ("decide", "--prices", PRICES)),
    "decide": Question(lambda r: r.decide("storage", prices=PRICES), ("decide", "storage", "--prices", PRICES)),
    "decide, a factor": Question(
        lambda r: r.decide("layout", {"network": "IB"}, baseline="HD5"),
        ("decide", "layout", "--where", "network=IB", "--baseline", "HD5"),
    ),
    "decide, no decision": Question(lambda r: r.decide("nodes"), ("decide", "nodes")),
    "speedup": Question(lambda r: r.speedup("network"), ("decide", "network", "--details", "options")),
    "cost": Question(lambda r: r.cost(PRICES), ("cost", "--prices", PRICES)),
    "cost_over_years": Question(
        lambda r: r.cost_over_years(SANDISK / "prices.yaml", 3, rounding="paper"),
        ("cost", "--prices", str(SANDISK / "prices.yaml"), "--years", "3", "--rounding", "paper"),
        "sandisk",
    ),
    "scatter": Question(
        lambda r: r.scatter("gc_s", "duration_s", by="layout"), ("scatter", "--x", "gc_s", "--by", "layout")
    ),
    "changes": Question(lambda r: r.changes(), ("changes",)),
    "gate": Question(
        lambda r: r.gate("2026-03-11", ignore="build"),
        ("gate", "--baseline", "2026-03-11", "--ignore", "build"),
        "nightly",
    ),
    "anomalies": Question(lambda r: r.anomalies(), ("anomalies",), "learned"),
    "findings": Question(lambda r: r.findings(prices=PRICES), ("findings", "--prices", PRICES)),
    "limits": Question(lambda r: r.limits("0"), ("show", "0", "--limits"), "watched"),
    "workload_limits": Question(lambda r: r.workload_limits(), ("decide", "limits"), "watched"),
    "profile": Question(lambda r: r.profile(PROFILED_RUN), ("profile", PROFILED_RUN), "profiled"),
    "profile, a second of a phase": Question(
        lambda r: r.profile(PROFILED_RUN, phase="reduce", at_s=3.5),
        ("profile", PROFILED_RUN, "--phase", "reduce", "--at", "3.5"),
        "profiled",
    ),
    "tasks": Question(lambda r: r.tasks("0"), ("tasks", "0"), "watched"),
    "explain": Question(lambda r: r.explain(by="layout"), ("explain", "--by", "layout"), "learned"),
    "predict": Question(
        lambda r: r.predict({"workload": "terasort", "layout": "SSD"}),
        ("predict", "--where", "workload=terasort,layout=SSD"),
        "learned",
    ),
    "next": Question(lambda r: r.next("3runs"), ("next", "--budget", "3runs"), "learned"),
    "enough_runs": Question(lambda r: r.enough_runs("c8", 0.2), ("next", "c8", "--precision", "20"), "learned"),
}
SIMULATED: dict[str, Question] = {
    "whatif": Question(
        lambda r: r.whatif({"layout": "SS2"}, {"layout": "HD2"}),
        ("whatif", "--set", "layout=SS2", "--where", "layout=HD2"),
    ),
    "whatif, extra costs": Question(
        lambda r: r.whatif({"layout": "SS2"}, {"layout": "HD2"}, prices=LAB_PRICES, extra_costs="idle=3h"),
        (
            *("whatif", "--set", "layout=SS2", "--where", "layout=HD2"),
            *("--prices", LAB_PRICES, "--extra-costs", "idle=3h"),
        ),
    ),
    "whatif, an instance type": Question(
        lambda r: r.whatif(
            {"worker.type": "m7i.2xlarge", "worker.volumes": "gp3:1TB:2", "worker.cpu.speed": "1"}, {"layout": "HD2"}
        ),
        (
            *("whatif", "--set", "worker.type=m7i.2xlarge", "--set", "worker.volumes=gp3:1TB:2"),
            *("--set", "worker.cpu.speed=1", "--where", "layout=HD2"),
        ),
    ),
    "recommend": Question(
        lambda r: r.recommend(
            "terasort:2GB:daily", catalogue=CATALOGUE, prices=HARDWARE_PRICES, simulations=20, jobs=1
        ),
        (
            *("recommend", "--workload", "terasort:2GB:daily", "--catalogue", CATALOGUE),
            *("--prices", HARDWARE_PRICES, "--simulations", "20", "--jobs", "1"),
        ),
    ),
}
