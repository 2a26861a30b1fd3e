"""Run Debian's Prometheus on a server, and query it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """Run Debian's Prometheus, which scrapes ``target`` twice a second, and yield its address."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed: tools/setup.sh test")
    config = f"""scrape_configs:
  - job_name: assay
    scrape_interval: 500ms
    scrape_timeout: 500ms
    static_configs: [{{targets: ["{target.removeprefix("http://")}"]}}]
"""
    (folder / "prometheus.yml").write_text(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    address = f"127.0.0.1:{port}"
    words = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen([program, *words, f"--web.listen-address={address}"], stdout=log, stderr=log)
        try:
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(timeout=30)


def query_result(server: str, expression: str) -> list[tuple[dict[str, str], float]]:
    """Return the result of a query: labels and value of each series; empty while Prometheus starts."""
    try:
        with urllib.request.urlopen(f"{server}/api/v1/query?{urlencode({'query': expression})}", timeout=10) as reply:
            result = json.load(reply)["data"]["result"]
    except OSError:
        return []
    return [(series["metric"], float(series["value"][1])) for series in result]


def first_result(server: str, expression: str) -> list[tuple[dict[str, str], float]]:
    """Return the result of a query as soon as it has one."""
    end_s = time.monotonic() + 120
    while not (result := query_result(server, expression)):
        assert time.monotonic() < end_s, expression
        time.sleep(0.25)
    return result
