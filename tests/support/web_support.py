"""Start a server over a small repository, in this process or on a port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from assay.interfaces.web.server.app import create_app
from assay.interfaces.web.server.connections import ConnectionLimits
from assay.interfaces.web.server.security import AccessRole, read_tokens
from assay.interfaces.web.server.server import server
from assay.model.runs.origin import Origin
from assay.model.runs.phase import Phase
from assay.model.runs.run import Check
from assay.model.runs.run_status import RunStatus
from assay.store import Repository
from builders import make_run, make_trace, study_runs

READ, UPLOAD = "reading-token-of-the-tests", "uploading-token-of-the-tests"
EVIL = "<script>alert(1)</script>"


def filled(root: Path) -> Repository:
    """Return a repository with the study's runs, one with a trace, and a failed run with HTML in its texts."""
    repository = Repository.create(root)
    runs = study_runs()
    for run in runs:
        trace = make_trace(run) if run is runs[0] else None
        repository.publish(run, trace=trace, logs={"job.log": b"line 1\n" * 10, "w1/x.log": EVIL.encode()})
    repository.publish(
        make_run(
            900,
            status=RunStatus.FAILED,
            cause=EVIL,
            origin=Origin.MEASURED,
            workload="evil-<b>",
            lab_scale=None,
            phases=(Phase("<i>map</i>", 0.0, 1.0),),
            checks=(Check(EVIL, False, EVIL),),
            parameters={"evil": EVIL},
        )
    )
    return repository


def tokens_file(folder: Path) -> Path:
    """Return a token file of mode 600."""
    path = folder / "tokens"
    path.write_text(f"# tokens of the tests\nread {READ}\nupload {UPLOAD}\n")
    path.chmod(0o600)
    return path


def client_of(root: Path, *, host: str = "localhost", **options: Any) -> TestClient:
    """Return a client of a server in this process."""
    return TestClient(create_app(root, **options), base_url=f"http://{host}", raise_server_exceptions=False)


def guarded(root: Path, folder: Path, **options: Any) -> TestClient:
    """Return a client of a server that requires a token."""
    tokens = read_tokens(tokens_file(folder))
    assert AccessRole.UPLOAD in set.union(*(set(roles) for roles in tokens.values()))
    return client_of(root, host="assay.example", tokens=tokens, **options)


@contextmanager
def served(
    app: FastAPI, *, certificate: Path | None = None, key: Path | None = None, limits: ConnectionLimits | None = None
) -> Iterator[str]:
    """Serve ``app`` on a free port of loopback and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        level = "critical" if certificate else "error"
        started, limiter = server(
            app, listener, limits or ConnectionLimits(), certificate=certificate, key=key, log_level=level
        )
        thread = threading.Thread(target=started.run, kwargs={"sockets": [limiter]}, daemon=True)
        thread.start()
        for _ in range(1000):
            if started.started:
                break
            time.sleep(0.01)
        assert started.started
        try:
            yield f"http{'s' if certificate else ''}://127.0.0.1:{port}"
        finally:
            started.should_exit = True
            thread.join(timeout=10)
            limiter.close()
