"""Test the API against its OpenAPI description with generated requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from assay.interfaces.web.server.app import create_app
from effort import examples
from web_support import filled, served

pytestmark = pytest.mark.slow
schemathesis = pytest.importorskip("schemathesis", reason="NOT tested: no schemathesis, the API was not fuzzed")
EXAMPLES = 10


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    root: Path = filled(tmp_path_factory.mktemp("schema") / "repository").root
    with served(create_app(root)) as url:
        yield schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json")


def test_the_service_answers_as_documented(api: Any) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    documented = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    seen = []
    for result in api.get_all_operations():
        operation = result.ok()
        if operation.method == "put":  # its body is a tar: test_web_api.py has those
            continue

        @settings(
            max_examples=examples(EXAMPLES),
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        )
        @given(case=operation.as_strategy())
        def answers(case: Any) -> None:
            case.call_and_validate(checks=documented)

        answers()
        seen.append(operation.path)
    assert len(seen) >= 18
