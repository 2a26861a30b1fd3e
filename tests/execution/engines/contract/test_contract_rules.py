"""Test the contract of every engine's plan-time rules without hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.analysis.statistics.runs.factors_of_runs import factors_of, matching_factors
from builders import make_run
from contract_subjects import SUBJECTS, Subject


@pytest.fixture(params=list(SUBJECTS))
def subject(request: pytest.FixtureRequest) -> Subject:
    return SUBJECTS[request.param]


def test_each_default_is_listed_once_with_its_reason(subject: Subject) -> None:
    defaults = subject.kind.rules.defaults
    assert len({default.name for default in defaults}) == len(defaults)
    assert all(default.reason for default in defaults)


def test_short_setting_names_are_no_parameters_and_parameters_are_unchanged(subject: Subject) -> None:
    rules = subject.kind.rules
    assert rules.parameters(subject.base) == dict(subject.base)
    assert not set(rules.shorthands) & {name for names in rules.shorthands.values() for name in names}


def test_a_setting_for_several_parameters_is_one_factor_and_no_further_difference(subject: Subject) -> None:
    """A shorthand is shown by its level, and its parameters are neither another factor nor a difference."""
    for shorthand, names in subject.kind.rules.shorthands.items():
        runs = [
            make_run(number, layout="SSD", levels={shorthand: level}, parameters=dict.fromkeys(names, level))
            for number, level in enumerate(("one", "other"))
        ]
        assert list(factors_of(runs)) == [shorthand]
        assert matching_factors(runs[0], shorthand) == matching_factors(runs[1], shorthand)


def test_a_completed_configuration_keeps_the_given_values(subject: Subject) -> None:
    rules = subject.kind.rules
    completed = rules.with_required_settings(subject.carried, 3)
    assert completed.items() >= dict(subject.carried).items()
    assert 1 <= rules.copies(completed) <= 3


def test_a_job_carries_what_needs_no_restart_and_nothing_else(subject: Subject, tmp_path: Path) -> None:
    rules, cluster = subject.kind.rules, subject.cluster(tmp_path / "home")
    base, carried, restarting = (subject.configuration(extra) for extra in ({}, subject.carried, subject.restarting))
    assert all(map(rules.job_can_set, subject.carried))
    assert not any(map(rules.job_can_set, subject.restarting))
    assert rules.deployment_key(base, cluster) == rules.deployment_key(carried, cluster)
    assert rules.deployment_key(base, cluster) != rules.deployment_key(restarting, cluster)
    assert rules.deployment_key(base, cluster) != rules.deployment_key(subject.configuration(layout="b"), cluster)


def test_inputs_depend_on_the_layout_and_not_on_parameters(subject: Subject, tmp_path: Path) -> None:
    rules, cluster = subject.kind.rules, subject.cluster(tmp_path / "home")
    name = rules.file_system(subject.configuration(), cluster)
    assert name == rules.file_system(subject.configuration(subject.restarting), cluster)
    assert name != rules.file_system(subject.configuration(layout="b"), cluster)


def test_an_impossible_setting_is_a_mistake_that_names_the_responsible_parameter(
    subject: Subject, tmp_path: Path
) -> None:
    rules, cluster = subject.kind.rules, subject.cluster(tmp_path / "home")
    assert not [*rules.mistakes(subject.base, cluster, 1)]
    mistakes = [*rules.mistakes({**subject.base, **subject.impossible}, cluster, 1)]
    assert mistakes
    assert set(mistakes[0].names) & set(subject.impossible)
    assert mistakes[0].reason


def test_more_workers_run_more_tasks_at_once(subject: Subject) -> None:
    rules = subject.kind.rules
    for kind in ("map", "reduce"):
        single, three = (rules.tasks_of_a_wave(subject.base, kind, workers) for workers in (1, 3))
        assert 1 <= single < three
