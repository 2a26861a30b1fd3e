"""Serve bundles to ``assay pull`` and ``assay push``: list their ids, send a bundle as a tar, and accept an upload.

The server writes an upload to a temporary file, compares its checksum, unpacks it in a staging folder, verifies each
file, and then moves the whole bundle into the repository. It deletes all files of a refused upload.
"""

import hashlib
from typing import Annotated, Any, BinaryIO, cast

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from assay.foundation.errors import RepositoryError
from assay.interfaces.web.api.models import BundlePage, Problem, Uploaded
from assay.interfaces.web.rendering.rendering import NotFoundError
from assay.interfaces.web.server.security import AccessRole
from assay.interfaces.web.state.context import PROBLEMS, READERS, ContextOf, DeniedError, require_role
from assay.store.exchange.remote import digest_header, digest_of
from assay.store.exchange.transfer import BUNDLE_ID, RefusedBundleError, bundle_ids, pack, receive

router = APIRouter(prefix="/api/v1/bundles", responses=PROBLEMS, tags=["bundles"])

PAGE_IDS_MAX = 1000
"""Maximum number of ids in one answer."""
BundleId = Annotated[str, Path(max_length=100, pattern=f"^{BUNDLE_ID.pattern}$")]
_TAR = "application/x-tar"
_UPLOAD_PROBLEMS: dict[int | str, dict[str, Any]] = {
    411: {"model": Problem, "description": "The upload has no Content-Length."},
    413: {"model": Problem, "description": "The bundle exceeds the server's upload limit."},
}


@router.get("", dependencies=READERS)
def bundles(
    context: ContextOf, after: Annotated[str, Query(max_length=100, description="The last id known.")] = ""
) -> BundlePage:
    """List the ids of bundles, sorted, by page."""
    ids = bundle_ids(context.store.repository, after, PAGE_IDS_MAX + 1)
    return BundlePage(bundles=ids[:PAGE_IDS_MAX], more=len(ids) > PAGE_IDS_MAX)


@router.get(
    "/{bundle_id}",
    dependencies=READERS,
    response_class=StreamingResponse,
    responses={200: {"content": {_TAR: {}}, "description": "The bundle."}},
)
def bundle(context: ContextOf, bundle_id: BundleId) -> StreamingResponse:
    """Send one bundle as a tar, with its size and its SHA-256 in the header ``Repr-Digest``."""
    try:
        archive = pack(context.store.repository, bundle_id)
    except RepositoryError as error:
        raise NotFoundError(error.message, hint=error.hint) from error
    headers = {
        "Content-Length": str(archive.size_bytes),
        "Repr-Digest": digest_header(archive.sha256),
        "Content-Disposition": f'attachment; filename="{bundle_id}.tar"',
    }
    return StreamingResponse(archive.chunks(), media_type=_TAR, headers=headers)


@router.put(
    "/{bundle_id}",
    status_code=201,
    dependencies=[Depends(require_role(AccessRole.UPLOAD))],
    responses={200: {"model": Uploaded, "description": "The server had this bundle already."}, **_UPLOAD_PROBLEMS},
    openapi_extra={
        "requestBody": {"required": True, "content": {_TAR: {"schema": {"type": "string", "format": "binary"}}}}
    },
)
async def upload(request: Request, response: Response, context: ContextOf, bundle_id: BundleId) -> Uploaded:
    """Accept a bundle, sent as a tar with ``Content-Length`` and ``Repr-Digest: sha-256=:…:``."""
    size_text = request.headers.get("content-length", "")
    expected_digest = digest_of(request.headers.get("repr-digest"))
    if not size_text.isdecimal():
        raise DeniedError(411, "the upload has no Content-Length", "send Content-Length")
    if int(size_text) > context.upload_bytes_max:
        raise DeniedError(
            413,
            f"the upload has {int(size_text):,} bytes, and the server accepts at most {context.upload_bytes_max:,}",
            "`assay serve --upload-limit` sets the limit",
        )
    if expected_digest is None:
        raise RefusedBundleError("the upload has no checksum", hint="send Repr-Digest: sha-256=:BASE64:")
    digest, received_bytes = hashlib.sha256(), 0
    with context.store.repository.scratch_file() as file:
        async for chunk in request.stream():
            received_bytes += len(chunk)
            if received_bytes > context.upload_bytes_max:
                raise DeniedError(413, "the upload is longer than its Content-Length", "send Content-Length")
            digest.update(chunk)
            await run_in_threadpool(file.write, chunk)
        if received_bytes != int(size_text) or digest.hexdigest() != expected_digest:
            raise RefusedBundleError("the received data do not match their checksum", hint="send it again")
        file.seek(0)
        is_new = await run_in_threadpool(
            receive, context.store.repository, bundle_id, cast("BinaryIO", file), bytes_max=context.upload_bytes_max
        )
    response.status_code = 201 if is_new else 200
    return Uploaded(bundle_id=bundle_id, new=is_new)
