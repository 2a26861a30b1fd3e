"""Play an attached Hadoop with a small server, and write the configuration that points to it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CLIENT = """\
#!/bin/sh
echo "$HADOOP_CLASSPATH|$@" >> {folder}/asked
case "$*" in
  *version*) echo "Hadoop 3.3.6"; exit 0;;
  *ApplicationCLI*) exit 0;;
  *nowhere*) echo "Input path does not exist: nowhere" >&2; exit 255;;
esac
sleep {sleep}
echo "Running job: job_1700000000000_0007" >&2
"""


@dataclass
class Theirs:
    """What the server says."""

    safe_mode: str = ""
    state: str = "active"
    quota: dict[str, int] = field(default_factory=lambda: {"spaceQuota": -1, "quota": -1, "spaceConsumed": 5})
    others: int = 0
    nodes: int = 3
    asked: list[str] = field(default_factory=list)
    port: int = 0
    read_bytes: int = 0
    gone: bool = False
    spark: dict[str, Any] = field(default_factory=dict)
    """What the page of Spark's own master says."""

    def bean(self, path: str) -> dict[str, Any]:
        if "DataNodeActivity" in path:
            self.read_bytes += 10**6
            return {"BytesRead": self.read_bytes, "BytesWritten": 7}
        if "OperatingSystem" in path:
            return {"SystemCpuLoad": 0.5}
        if "NameNodeStatus" in path:
            return {"State": self.state}
        if "NameNodeInfo" in path:
            live = {"127.0.0.1:9866": {"infoAddr": f"127.0.0.1:{self.port}"}}
            return {"Safemode": self.safe_mode, "LiveNodes": json.dumps(live)}
        return {"CapacityRemaining": 10**12, "NumLiveDataNodes": self.nodes}

    def answer(self, method: str, path: str) -> Any:
        self.asked.append(f"{method} {path}")
        if path.startswith("/jmx"):
            return {"beans": [self.bean(path)]}
        if path == "/json/":
            return self.spark
        if path == "/ws/v1/cluster/info":
            return {"clusterInfo": {"haState": "ACTIVE" if self.state == "active" else "STANDBY"}}
        if path == "/ws/v1/cluster/scheduler":
            queues = {"queue": [{"queueName": "default"}, {"queueName": "nights"}]}
            return {"scheduler": {"schedulerInfo": {"queueName": "root", "queues": queues}}}
        if path.startswith("/ws/v1/cluster/apps"):
            app = {
                "id": "application_1_0001",
                "name": "theirs",
                "runningContainers": self.others,
                "applicationTags": "",
            }
            return {"apps": {"app": [app]} if self.others else None}
        if "op=GETCONTENTSUMMARY" in path:
            return {"ContentSummary": {"fileCount": 3, "directoryCount": 1, **self.quota}}
        return {"boolean": True}


@contextlib.contextmanager
def serving(state: Theirs) -> Iterator[tuple[Theirs, int]]:

    class Handler(BaseHTTPRequestHandler):
        def _say(self) -> None:
            content = json.dumps(state.answer(self.command, self.path)).encode()
            if "LISTSTATUS" in self.path or state.gone:
                self.send_error(503 if state.gone else 404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_DELETE = _say  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    state.port = server.server_address[1]
    yield state, server.server_address[1]
    server.shutdown()
    server.server_close()


def site_xml(folder: Path, port: int, **more: str) -> None:
    values = {
        "fs.defaultFS": "hdfs://127.0.0.1:8020",
        "dfs.namenode.http-address": f"127.0.0.1:{port}",
        "yarn.resourcemanager.webapp.address": f"127.0.0.1:{port}",
        "dfs.datanode.data.dir": "[SSD]file:///data1/dn,/data2/dn",
        **more,
    }
    entries = (f"<property><name>{n}</name><value>{v}</value></property>" for n, v in values.items())
    (folder / "core-site.xml").write_text(f"<configuration>{''.join(entries)}</configuration>")
