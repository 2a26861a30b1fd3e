"""Serve the questions of a repository to an AI assistant, over the Model Context Protocol on stdin and stdout.

In: a repository's folder. Out: for each question a tool. Its result has the answer in words, the JSON that the command
prints with ``--json`` under ``values``, and each chart as a PNG image. No tool writes to the repository, except
``run`` if it is permitted.
"""

import asyncio
import base64
import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from assay.foundation.errors import AssayError, SpecificationError
from assay.foundation.process import terminable
from assay.foundation.version import __version__
from assay.interfaces.mcp.plan_run import RUN, run_plan, run_tool
from assay.interfaces.mcp.questions import argument_schema, ask, description, plain_text, question_names
from assay.interfaces.python.answer import Answer
from assay.interfaces.python.repository import OpenedRepository, open_repository
from assay.interfaces.report.output.pictures import png_of

VALUES_MAX_BYTES = 1_000_000
"""Maximum size of the JSON of one answer. An assistant could not read more."""
_INSTRUCTIONS = """\
assay decides which storage, network and configuration a Hadoop or Spark cluster should have, from measured runs.
Each tool is a question. Its first text is the answer, with its evidence and caveats; `values` has the figures: a
speedup or cost is a ratio with the ends `low` and `high` of its interval, and `origin` says whether runs were measured,
simulated, predicted or published. Report the interval, the origin and the caveats with each figure. A verdict that is
not `faster` or `cheaper` is not evidence of equality.

"""


class QuestionServer:
    """Answers the requests of one client. Questions are answered one after the other, in a thread."""

    def __init__(self, root: Path, *, may_run: bool = False) -> None:
        self._root = root
        self._may_run = may_run
        self._repository: OpenedRepository | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="question")

    def _open_repository(self) -> OpenedRepository:
        if self._repository is None:
            self._repository = open_repository(self._root)
        return self._repository

    async def list_tools(self, _context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        """Return a tool for each question, and ``run`` if it is permitted."""
        read_only = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        tools = [
            Tool(name=name, description=description(name), input_schema=argument_schema(name), annotations=read_only)
            for name in question_names()
        ]
        return ListToolsResult(tools=[*tools, run_tool()] if self._may_run else tools)

    async def call_tool(self, _context: Any, params: CallToolRequestParams) -> CallToolResult:
        """Ask a question, or execute a plan. An error of assay is a result that says what to do."""
        arguments = params.arguments or {}
        try:
            if params.name == RUN:
                if not self._may_run:
                    raise SpecificationError("plans are not run", hint="start the server with `assay mcp --allow-run`")
                return await run_plan(self._root, arguments)
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, lambda: result_of(ask(self._open_repository(), params.name, arguments))
            )
        except AssayError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)

    async def serve(self) -> None:
        """Serve until the client closes stdin. Raises RepositoryError if there is no repository."""
        if not self._may_run:
            self._open_repository()
        documentation = inspect.getdoc(OpenedRepository) or ""
        server: Server[Any] = Server(
            "assay",
            version=__version__,
            instructions=_INSTRUCTIONS + plain_text(documentation),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())


def result_of(answer: Answer[Any]) -> CallToolResult:
    """Return an answer as text, charts and values. Raises SpecificationError if the values are too large."""
    values = answer.to_dict()
    text = json.dumps(values, ensure_ascii=False)
    if len(text.encode()) > VALUES_MAX_BYTES:
        raise SpecificationError(
            f"the answer has {len(text.encode()) / 1e6:.1f} MB, and at most {VALUES_MAX_BYTES / 1e6:g} MB are sent",
            hint="select fewer runs with `where` or `limit`",
        )
    content: list[ContentBlock] = [TextContent(text=str(answer))]
    for chart in answer.charts():
        image = base64.b64encode(png_of(chart.spec)).decode("ascii")
        content += [TextContent(text=chart.caption), ImageContent(data=image, mime_type="image/png")]
    content.append(TextContent(text=text))  # for clients that ignore structured content
    return CallToolResult(
        content=content, structured_content={"sentence": answer.sentence, "notes": list(answer.notes), "values": values}
    )


def serve(root: Path, *, may_run: bool = False) -> None:
    """Serve the repository in the folder ``root``. ``may_run``: whether the client may execute plans."""
    with terminable(), suppress(KeyboardInterrupt):
        asyncio.run(QuestionServer(root, may_run=may_run).serve())
