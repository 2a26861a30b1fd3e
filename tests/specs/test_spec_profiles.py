"""Test profile files: the shipped profile and its schema."""

from __future__ import annotations

from assay.execution.planning.plan_files.schemas import json_schema
from assay.questions.forecasts.learning import shipped_profile
from assay.specs.profiles import profile_of_text, profile_text


def test_the_profile_that_comes_with_assay_says_where_it_is_from() -> None:
    profile = shipped_profile()
    assert {"terasort", "dfsio-write", "dfsio-read", "dfsioe-write", "dfsioe-read", "wordcount"} <= set(
        profile.workloads
    )
    assert "measured runs" in profile.learned.source
    assert profile.learned.runs > 100
    assert profile_text(profile_of_text(profile_text(profile))) == profile_text(profile)


def test_the_schema_of_profiles_is_offered() -> None:
    schema = json_schema("profile")
    assert {"profile", "engine", "costs", "workloads", "learned"} <= schema["properties"].keys()
