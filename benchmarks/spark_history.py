"""Compare how many events of a Spark event log assay and Spark's history server read per second.

A real application with many tasks writes the log in one JVM on this machine, compressed and rolled as Spark does by
default. The history server replays it when the application's stages are first requested; that request is timed, so its
start and its scan of the folder do not count. assay reads the same files to jobs, stages and tasks. Both repeat this in
turns, each time with a new server, as a server caches a replayed log.

Run: ``.venv/bin/python benchmarks/spark_history.py [tasks] [times]`` (20,000 and 3: about 3 min, 100 MB of temporary
files). It needs a JDK and a Spark (SPARK_HOME, or the one that ``assay spark fetch`` installed).
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from io import BytesIO
from pathlib import Path

from assay.execution.engines.spark import settings
from assay.execution.engines.spark.distribution import find
from assay.store.formats.spark.codecs import unpacked
from assay.store.formats.spark.events import read_application

APPLICATION = """
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

public class Application {
  public static void main(String[] args) {
    int tasks = Integer.parseInt(args[0]);
    List<Integer> numbers = new ArrayList<>();
    for (int number = 0; number < tasks; number++) { numbers.add(number); }
    try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("many tasks"))) {
      context.parallelize(numbers, tasks).mapToPair(n -> new scala.Tuple2<>(n % 8, n)).reduceByKey(Integer::sum, 8)
          .count();
    }
  }
}
"""
WAIT_S = 120.0
"""Maximum wait for an answer of the history server, in seconds."""
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def main(tasks: int, times: int) -> None:
    """Make the log, let both read it in turns, and print events per second."""
    spark = find()
    if spark is None:
        sys.exit("there is no Spark: run `assay spark fetch`, or set SPARK_HOME")
    with tempfile.TemporaryDirectory() as name:
        folder, jars = Path(name), f"{spark.home}/jars/*"
        logs = folder / "logs"
        logs.mkdir()
        (folder / "Application.java").write_text(APPLICATION)
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", name, f"{name}/Application.java"], check=True)
        java = ["java", *settings.MODULE_OPTIONS, "-cp", f"{name}:{jars}"]
        options = ["-Dspark.master=local[2]", "-Dspark.eventLog.enabled=true", f"-Dspark.eventLog.dir=file://{logs}"]
        subprocess.run([*java, "-Xmx2g", *options, "Application", str(tasks)], check=True, capture_output=True)
        files = sorted(path for path in logs.rglob("events_*"))
        events = sum(1 for path in files for _ in unpacked(BytesIO(path.read_bytes()), path.name))
        print(f"Spark {spark.version}: {events:,} events in {sum(p.stat().st_size for p in files):,} packed bytes")
        times_by_reader: dict[str, list[float]] = {"history server": [], "assay": []}
        for _ in range(times):
            times_by_reader["history server"].append(_replayed_s([*java, "-Xmx2g"], logs))
            began = time.monotonic()
            application = read_application(
                (path.name, unpacked(BytesIO(path.read_bytes()), path.name)) for path in files
            )
            times_by_reader["assay"].append(time.monotonic() - began)
            assert len(application.tasks) == tasks + 8
        for reader, times_s in times_by_reader.items():
            rates = ", ".join(f"{events / seconds:,.0f}" for seconds in times_s)
            print(f"{reader}: best {min(times_s):.2f} s of {times}; events/s: {rates}")
        ratio = min(times_by_reader["history server"]) / min(times_by_reader["assay"])
        print(f"assay reads {ratio:.1f} times as many per second")


def _replayed_s(java: list[str], logs: Path) -> float:
    """Return the time of a new server from the first request for the application's stages to the answer, in seconds."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [f"-Dspark.history.fs.logDirectory=file://{logs}", f"-Dspark.history.ui.port={port}"]
    command = [*java, *options, "org.apache.spark.deploy.history.HistoryServer"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/api/v1/applications"
    try:
        listing = b"[]"
        deadline = time.monotonic() + WAIT_S
        while b'"id"' not in listing:
            if time.monotonic() > deadline or server.poll() is not None:
                sys.exit("Spark's history server did not list the application")
            time.sleep(0.2)
            try:
                listing = _OPENER.open(address, timeout=5).read()
            except (OSError, urllib.error.URLError):
                continue
        application = listing.split(b'"id" : "', 1)[1].split(b'"', 1)[0].decode()
        began = time.monotonic()
        _OPENER.open(f"{address}/{application}/stages", timeout=WAIT_S).read()
        return time.monotonic() - began
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main(*(int(text) for text in [*sys.argv[1:], *("20000", "3")[len(sys.argv) - 1 :]]))
