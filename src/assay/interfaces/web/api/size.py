"""Serve sizes from logs: the upload of a log, the start of a computation, its progress and its answer."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi import Path as PathParameter
from starlette.concurrency import run_in_threadpool

from assay.foundation.errors import SpecificationError
from assay.interfaces.web.api.models import Model
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.state.context import PROBLEMS, READERS, Context, ContextOf, DeniedError
from assay.interfaces.web.state.search_state import SearchState, search_state, start_once
from assay.interfaces.web.state.searches import Computation
from assay.questions.recommendation.catalogues import UploadedLogRequest, prepare_size, stored_catalogues
from assay.questions.recommendation.size import SizeAnswer

router = APIRouter(prefix="/api/v1", responses=PROBLEMS, dependencies=READERS, tags=["what if"])
_BINARY_TYPE = "application/octet-stream"
UploadKey = Annotated[str, PathParameter(description="32 random hexadecimal digits, chosen by the sender.")]


class UploadedLog(Model):
    """A log that the server has received."""

    upload: str
    name: str
    size_bytes: int


def start_size(context: Context, request: UploadedLogRequest) -> str:
    """Start the computation of a request, unless it was started before, and return its key.

    Raises SpecificationError for an invalid request, and NotFoundError if the server no longer has the log.
    """

    def prepare() -> Computation[SizeAnswer]:
        folder = context.logs.folder(request.upload)
        if folder is None:
            raise NotFoundError("this server does not have the log, or newer logs displaced it", hint="send it again")
        return prepare_size(request, folder, stored_catalogues(context.cluster_folders))

    return start_once(context.sizes, request, prepare)


@router.put(
    "/size/logs/{upload}/{name}",
    status_code=201,
    responses={411: PROBLEMS[400], 413: PROBLEMS[400]},
    openapi_extra={
        "requestBody": {"required": True, "content": {_BINARY_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
    },
)
async def put_log(request: Request, context: ContextOf, upload: UploadKey, name: str) -> UploadedLog:
    """Receive a log of a job, with ``Content-Length``. Several files of one upload are logs of one job."""
    size = request.headers.get("content-length", "")
    if not size.isdecimal():
        raise DeniedError(411, "the upload has no Content-Length", "send Content-Length")
    try:
        file = context.logs.begin(upload, name, int(size))
    except SpecificationError as error:
        raise DeniedError(413 if error.where == name else 400, error.message, error.hint or "") from error
    received_bytes = 0
    with file.open("wb") as target:
        async for chunk in request.stream():
            received_bytes += len(chunk)
            if received_bytes > int(size):
                raise DeniedError(413, "the upload is longer than its Content-Length", "send Content-Length")
            await run_in_threadpool(target.write, chunk)
    return UploadedLog(upload=upload, name=name, size_bytes=received_bytes)


@router.post("/size")
def post_size(context: ContextOf, request: UploadedLogRequest) -> SearchState:
    """Start sizing a cluster from an uploaded log. With a catalogue, it simulates clusters and takes minutes."""
    return get_size(context, start_size(context, request))


@router.get("/size/{key}")
def get_size(context: ContextOf, key: str) -> SearchState:
    """Return the progress, and the answer after the end, as `assay size --json` prints it."""
    return search_state(context.sizes, key, "/api/v1/size")
