"""Ask the server for assistants with the client of the Model Context Protocol, over stdin and stdout."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ImageContent, TextContent

import assay
from assay.foundation.errors import SpecificationError
from assay.interfaces.mcp.questions import question_names
from assay.interfaces.mcp.server import VALUES_MAX_BYTES, result_of
from assay.interfaces.python.answer import Answer
from paths import EXAMPLES, ROOT
from question_table import QUESTIONS, SIMULATED, Question, command_json, question_repositories, simulated_repository
from simulator_support import needs_simulator

PNG = b"\x89PNG\r\n\x1a\n"
TIMEOUT_S = 120


class ServerUnderTest:
    """A server process with its client, used from a test without an event loop."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}

    def instructions(self) -> str:
        return self._client.instructions or ""

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        result = self._portal.call(self._client.call_tool, name, arguments, TIMEOUT_S)
        assert isinstance(result, CallToolResult)
        return result


class Servers:
    """One server for each repository and set of options, started when a test needs it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._portal = stack, stack.enter_context(start_blocking_portal())
        self._started: dict[tuple[str, ...], ServerUnderTest] = {}

    def of(self, root: Path, *options: str) -> ServerUnderTest:
        words = ("-m", "assay", "mcp", "--repository", str(root), *options)
        if words not in self._started:
            parameters = StdioServerParameters(
                command=sys.executable, args=list(words), env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
            )
            client = self._stack.enter_context(self._portal.wrap_async_context_manager(Client(parameters)))
            self._started[words] = ServerUnderTest(self._portal, client)
        return self._started[words]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return question_repositories(tmp_path_factory)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_repository(tmp_path_factory)


def _check(question: Question, server: ServerUnderTest, root: Path) -> None:
    name, arguments = question.call()
    result = server.call(name, **arguments)
    expected = command_json(question, root)
    assert not result.is_error
    assert result.structured_content["values"] == expected
    first, last = result.content[0], result.content[-1]
    assert isinstance(first, TextContent)
    assert isinstance(last, TextContent)
    assert json.loads(last.text) == expected
    sentence, notes = (result.structured_content[name] for name in ("sentence", "notes"))
    assert first.text == "\n".join([sentence, *notes])


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_has_the_json_of_the_command(name: str, servers: Servers, repositories: dict[str, Path]) -> None:
    question = QUESTIONS[name]
    root = repositories[question.repository]
    _check(question, servers.of(root), root)


@pytest.mark.slow
def test_compared_runs_have_the_json_of_the_command(servers: Servers, repositories: dict[str, Path]) -> None:
    root = repositories["bsc"]
    first, second = [run.run_id for run in assay.open(root).runs().value[:2]]
    _check(Question(lambda r: r.compare(first, second), ("compare", first, second)), servers.of(root), root)


@needs_simulator
@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_a_simulated_answer_has_the_json_of_the_command(name: str, servers: Servers, measured: Path) -> None:
    _check(SIMULATED[name], servers.of(measured), measured)


@pytest.mark.slow
def test_a_decision_has_its_words_and_its_charts(servers: Servers, repositories: dict[str, Path]) -> None:
    answer = assay.open(repositories["bsc"]).decide("network")
    result = servers.of(repositories["bsc"]).call("decide", question="network")
    first, *_ = result.content
    assert isinstance(first, TextContent)
    assert first.text == str(answer)
    assert "95 % interval" in first.text
    images = [block for block in result.content if isinstance(block, ImageContent)]
    assert len(images) == len(answer.charts()) > 0
    assert all(base64.b64decode(image.data).startswith(PNG) for image in images)
    assert any(isinstance(block, TextContent) and block.text == answer.charts()[0].caption for block in result.content)


@pytest.mark.slow
def test_each_question_is_a_tool_that_only_reads(servers: Servers, repositories: dict[str, Path]) -> None:
    server = servers.of(repositories["bsc"])
    tools = server.tools()
    names = {question.call()[0] for question in (*QUESTIONS.values(), *SIMULATED.values())}
    assert set(tools) == set(question_names()) == names | {"compare"}
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert tools["decide"].description.startswith("Decide which option is faster")
    assert tools["decide"].input_schema["properties"]["question"] == {
        "default": "storage",
        "title": "Question",
        "type": "string",
    }
    assert tools["compare"].input_schema["properties"]["runs"]["items"] == {"type": "string"}
    assert tools["predict"].input_schema["required"] == ["where"]
    assert "interval" in server.instructions()


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a question": ("decde", {}, "did you mean 'decide'"),
    "an argument": ("decide", {"questin": "storage"}, "did you mean 'question'"),
    "a type": ("runs", {"limit": "many"}, "limit: Input should be a valid integer"),
    "a missing argument": ("predict", {}, "where: Field required"),
    "a level": ("decide", {"where": {"layout": "SS22"}}, "SS2"),
    "a run": ("limits", {"run": "zzz"}, "zzz"),
    "a plan": ("run", {"plan": "plan.yaml"}, "assay mcp --allow-run"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_a_result_with_a_hint(name: str, servers: Servers, repositories: dict[str, Path]) -> None:
    tool, arguments, hint = REFUSED[name]
    result = servers.of(repositories["bsc"]).call(tool, **arguments)
    assert result.is_error
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert hint in content.text


def test_an_answer_that_is_too_large_is_refused() -> None:
    small, large = ([{"log": "é" * size}] for size in (VALUES_MAX_BYTES // 2 - 100, VALUES_MAX_BYTES // 2))
    assert result_of(Answer((), "Small.", json_values=lambda: small)).structured_content["values"] == small
    with pytest.raises(SpecificationError, match="`where` or `limit`"):
        result_of(Answer((), "Large.", json_values=lambda: large))


@needs_simulator
@pytest.mark.slow
def test_a_plan_is_run_only_where_it_is_permitted(servers: Servers, tmp_path: Path) -> None:
    root = tmp_path / "new"
    server = servers.of(root, "--allow-run")
    assert server.tools()["run"].annotations.read_only_hint is False
    plan = str(EXAMPLES / "bsc-2015" / "quick-plan.yaml")
    result = server.call("run", plan=plan, simulate=True, until="2 runs")
    assert not result.is_error, result.content
    assert result.structured_content["values"]["made"] == 2
    runs = server.call("runs").structured_content["values"]
    assert [run["origin"] for run in runs] == ["simulated", "simulated"]
    missing = server.call("run", plan=str(tmp_path / "missing.yaml"))
    assert missing.is_error
    assert missing.structured_content["exit_code"] == 2
    assert "missing.yaml" in str(missing.content[0])
    assert "Extra inputs" in str(server.call("run", plan=plan, simulated=True).content[0])


@pytest.mark.slow
def test_a_folder_without_a_repository_ends_the_server_with_its_error(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "assay", "mcp", "--repository", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 6
    assert "there is no repository here" in done.stderr
    assert done.stdout == ""
