"""Test profile files: the shipped profile and its schema."""

from __future__ import annotations

from pathlib import Path

from assay.execution.planning.plan_files.schemas import json_schema
from assay.questions.forecasts.learning import shipped_profile
from assay.specs.profiles import load_profile, profile_text


def test_the_profile_that_comes_with_assay_says_where_it_is_from(tmp_path: Path) -> None:
    profile = shipped_profile()
    assert {"terasort", "dfsio-write", "dfsio-read", "dfsioe-write", "dfsioe-read", "wordcount"} <= set(
        profile.workloads
    )
    assert "measured runs" in profile.learned.source
    assert profile.learned.runs > 100
    (tmp_path / "profile.yaml").write_text(profile_text(profile))
    assert profile_text(load_profile(tmp_path / "profile.yaml")) == profile_text(profile)


def test_the_schema_of_profiles_is_offered() -> None:
    schema = json_schema("profile")
    assert {"profile", "engine", "costs", "workloads", "learned"} <= schema["properties"].keys()
