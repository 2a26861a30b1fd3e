"""Measure how fast assay and a MariaDB server answer 50 readers with the data of the same pages.

Fills a repository with synthetic runs, loads the same runs into a table with the columns and indexes of ALOJA's
``execs``. 50 readers then send the same requests to assay and to MariaDB, in the same order (``web_readers.py``). Each
reader of MariaDB is a client process on its socket and gets rows as text. MariaDB is measured twice, with its default
settings and with its query cache on. assay answers over HTTP with JSON. Of ALOJA, only the time of the database is
measured, without the PHP that rendered pages.

The compared questions, and where the answers differ:

- ``runs``: the newest 50 matching runs, and the number of runs for each further filter. The same.
- ``run``: the record of one run. SQL reads the row; assay also computes its phases, tasks and devices.
- ``speedup: averages``: ALOJA's own method, plain averages by layout. The figures must be equal.
- ``speedup``: SQL gives ALOJA's averages; assay matches runs that are equal in everything else, and gives intervals.
- ``cost``: the configurations by cost of a run. SQL ranks averages; assay adds intervals, the Pareto front's
  probabilities by draws, and break-even prices.
- ``compare``: two configurations. SQL gives both averages; assay adds the ratio's interval and every difference.
- ``coverage``, ``overview``: counts, and the fastest layout. Similar answers.
- ``anomalies``, ``precision``, ``plan``: ALOJA has no SQL for these; they are left out.

Debian: ``apt-get install mariadb-server-core mariadb-client-core``.
Run: ``.venv/bin/python benchmarks/web_mariadb.py [runs]``; 50,000 take about five minutes.
"""

from __future__ import annotations

import http.client
import json
import math
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))
from import_mariadb import server
from repository_views import LAYOUTS, WORKLOADS, filled_repository
from web_readers import READERS, TARGET_MS, concurrent_times_ms, p95_ms, questions, reader, served

from assay.analysis.statistics.runs.run_table import RunTable
from assay.store import Repository

COLUMNS = {
    "workload": "bench",
    "layout": "disk",
    "network": "net",
    "cluster": "id_cluster",
    "dfs.blocksize": "blk_size",
    "dfs.replication": "replication",
    "mapreduce.task.io.sort.factor": "iosf",
    "io.file.buffer.size": "iofilebuf",
    "status": "valid",
    "campaign_id": "exec_type",
}
"""Column of assay to column of ALOJA."""
CONFIGURATION = "bench, disk, net, id_cluster, blk_size, replication, iosf, iofilebuf"
TABLE = f"""
CREATE TABLE execs (
  id_exec INT NOT NULL AUTO_INCREMENT PRIMARY KEY, exec VARCHAR(255) NOT NULL,
  {", ".join(f"{name} VARCHAR(255)" for name in COLUMNS.values())},
  exe_time DECIMAL(20, 3), start_time DATETIME,
  UNIQUE KEY (exec), {", ".join(f"KEY ({name})" for name in (*COLUMNS.values(), "exe_time", "start_time"))}
) ENGINE=InnoDB
"""
RATE_PER_H = 9.44
PAGE = 50
END = "-- end of answer --"
QUERY_CACHE_BYTES = 64 * 2**20


def where_of(workload: str | None, layout: str | None = None, omitted_column: str = "") -> str:
    """Return a condition without the filter of ``omitted_column``, whose levels are listed."""
    filters = {"bench": workload, "disk": layout}
    parts = [f"{name} = '{level}'" for name, level in filters.items() if level and name != omitted_column]
    return f"WHERE {' AND '.join(parts)}" if parts else ""


def run_list(workload: str | None = None, layout: str | None = None) -> str:
    """Return the statements of the list of runs: a page, and the number of runs in all and for each level."""
    condition = where_of(workload, layout)
    facets = [
        f"SELECT {name}, COUNT(*) FROM execs {where_of(workload, layout, omitted_column=name)} GROUP BY {name}"
        for name in COLUMNS.values()
        if name not in ("valid", "exec_type")
    ]
    page = f"SELECT * FROM execs {condition} ORDER BY start_time DESC, id_exec DESC LIMIT {PAGE}"
    return "; ".join([page, f"SELECT COUNT(*) FROM execs {condition}", *facets])


def averages(workload: str | None) -> str:
    """Return the statement of ALOJA's speedup by layout: the average time on HDD over each layout's average time."""
    where = f"{where_of(workload)} {'AND' if workload else 'WHERE'} valid = 'valid' AND exe_time > 0"
    by_layout = f"SELECT bench, disk, AVG(exe_time) AS s, STDDEV(exe_time) AS d, COUNT(*) AS n FROM execs {where} GROUP BY bench, disk"  # noqa: E501
    return f"SELECT r.bench, r.disk, b.s / r.s, b.s / r.s * r.d / r.s, r.n FROM ({by_layout}) r JOIN ({by_layout}) b ON b.bench = r.bench AND b.disk = 'HDD'"  # noqa: E501


def ranking(workload: str) -> str:
    """Return the statement of the configurations by cost of a run."""
    return (
        f"SELECT {CONFIGURATION}, AVG(exe_time) AS s, STDDEV(exe_time), COUNT(*), AVG(exe_time) / 3600 * {RATE_PER_H} "
        f"AS cost FROM execs {where_of(workload)} AND valid = 'valid' GROUP BY {CONFIGURATION} ORDER BY cost"
    )


def statements_of_side(run_id: str) -> str:
    """Return the statements of one side of a comparison: the run, and the average of all with its configuration."""
    same_configuration = " AND ".join(f"e.{name} = c.{name}" for name in CONFIGURATION.split(", "))
    return (
        f"SELECT * FROM execs WHERE exec = '{run_id}'; SELECT AVG(e.exe_time), STDDEV(e.exe_time), COUNT(*) "
        f"FROM execs e JOIN execs c ON {same_configuration} WHERE c.exec = '{run_id}' AND e.valid = 'valid'"
    )


def statements(ids: list[str]) -> dict[str, list[str]]:
    """Return the SQL for each page's questions, in the order of :func:`web_readers.questions`."""
    leaders = "SELECT bench, disk, AVG(exe_time), COUNT(*) FROM execs WHERE valid = 'valid' GROUP BY bench, disk"
    counts = "SELECT valid, COUNT(*), MIN(start_time), MAX(start_time) FROM execs GROUP BY valid"
    coverage_statement = "SELECT exec_type, COUNT(*), SUM(valid = 'valid') FROM execs {} GROUP BY exec_type"
    return {
        "overview": [f"{counts}; {leaders}"],
        "runs": [run_list(), *(run_list(w, layout) for w in WORKLOADS for layout in LAYOUTS)],
        "run": [f"SELECT * FROM execs WHERE exec = '{run_id}'" for run_id in (ids[0], *ids)],
        "compare": [
            f"{statements_of_side(a)}; {statements_of_side(b)}" for a, b in zip(ids[::2], ids[1::2], strict=False)
        ],
        "speedup": [averages(w) for w in WORKLOADS],
        "speedup: averages": [averages(w) for w in WORKLOADS],
        "cost": [ranking(w) for w in WORKLOADS],
        "quality: coverage": [
            coverage_statement.format(""),
            *(coverage_statement.format(where_of(w)) for w in WORKLOADS),
        ],
    }


def write_rows(repository: Repository, table: RunTable, path: Path) -> None:
    """Write the runs as ``LOAD DATA`` takes them."""
    ids = repository.ids_at(table, range(len(table)))
    texts = [
        [column.text(row) or "\\N" for row in range(len(table))] for column in (table.columns[name] for name in COLUMNS)
    ]
    seconds, started_unix_s = table.values["duration_s"], table.values["started_unix_s"]
    start_texts = [time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(moment)) for moment in started_unix_s]
    lines = zip(ids, *texts, (f"{s:.3f}" for s in seconds), start_texts, strict=True)
    path.write_text("".join("\t".join(line) + "\n" for line in lines))


@dataclass(slots=True)
class Client:
    """One client process, which a reader uses for all its requests."""

    process: subprocess.Popen[str]

    def rows(self, statement: str) -> list[str]:
        """Return the answer's lines. SystemExit when the server refuses."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{statement}; SELECT '{END}';\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline().rstrip("\n")) != END:
            if self.process.poll() is not None:
                raise SystemExit(f"MariaDB does not answer {statement[:200]!r}: {line}")
            lines.append(line)
        return lines

    def answer_ms(self, statement: str) -> float:
        """Return how long one answer took."""
        began = time.monotonic()
        self.rows(statement)
        return 1000 * (time.monotonic() - began)


@contextmanager
def client(socket: Path) -> Iterator[Client]:
    """Connect to the server; the client ends with the block."""
    command = [
        "mariadb",
        "--no-defaults",
        f"--socket={socket}",
        "--user=root",
        "--batch",
        "--unbuffered",
        "--skip-column-names",
        "b",
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )
    try:
        sql_client = Client(process)
        sql_client.rows("SELECT 1")
        yield sql_client
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def sql_reader(socket: Path) -> Iterator[Callable[[str], float]]:
    """Connect one reader to MariaDB; yield a function that returns the time of a statement's answer, in ms."""
    with client(socket) as sql_client:
        yield sql_client.answer_ms


def check_averages(port: int, socket: Path, address: str, statement: str) -> int:
    """Return the number of ALOJA's figures that assay and MariaDB both give; SystemExit if a figure differs."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", address)
    figures = json.loads(connection.getresponse().read())
    connection.close()
    assay_figures = {(row["workload"], row["level"]): (row["value"], row["runs"]) for row in figures}
    with client(socket) as sql_client:
        rows = [line.split("\t") for line in sql_client.rows(statement)]
    mariadb_figures = {(bench, disk): (float(value), int(number)) for bench, disk, value, _, number in rows}
    for key, (value, number) in assay_figures.items():
        other_value, other_number = mariadb_figures.get(key, (math.nan, 0))
        if not abs(other_value / value - 1) <= 1e-3 or other_number != number:
            raise SystemExit(f"{key}: assay says {value} of {number} runs, MariaDB {mariadb_figures.get(key)}")
    return len(assay_figures)


def measure(port: int, socket: Path, ids: list[str], ask: Callable[[str], str]) -> None:
    """Let the readers ask all servers and print the times in one table."""
    requests, sql = questions(ids), statements(ids)
    address, statement = requests["speedup: averages"][0][1], sql["speedup: averages"][0]
    print(f"ALOJA's averages: {check_averages(port, socket, address, statement)} figures, equal on both sides")
    print(f"{READERS} readers; ms within which 95 % of the answers came (median). Target: {TARGET_MS}.")
    print(f"{'':<20}{'assay':>16}{'MariaDB':>16}{'its cache on':>16}   assay / MariaDB, / with its cache")
    for page, page_statements in sql.items():
        with reader(port) as read_page:
            read_page(requests[page][0])
        columns = [concurrent_times_ms(requests[page], partial(reader, port))]
        for cache_bytes in (0, QUERY_CACHE_BYTES):
            ask(f"SET GLOBAL query_cache_size = {cache_bytes}")
            with sql_reader(socket) as run_sql:
                run_sql(page_statements[0])
            columns.append(concurrent_times_ms(page_statements, partial(sql_reader, socket)))
        p95s = [p95_ms(times) for times in columns]
        cells = "".join(f"{f'{p95:.1f} ({median(times):.1f})':>16}" for p95, times in zip(p95s, columns, strict=True))
        print(f"{page:<20}{cells}   {p95s[0] / p95s[1]:.2f}, {p95s[0] / p95s[2]:.2f}  (n = {len(columns[0])} each)")
    print("anomalies, precision, plan: no SQL of ALOJA's answers these. Of speedup, cost and compare MariaDB gives")
    print("averages and standard deviations alone; assay's answers hold matched groups, intervals and probabilities.")


def main(runs: int) -> None:
    """Fill both, and measure both."""
    if not (shutil.which("mariadbd") and shutil.which("mariadb-install-db") and shutil.which("mariadb")):
        print("left out: MariaDB is not installed; see the top of this file")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the started processes are ended
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository = filled_repository(folder, runs)
        table = repository.table()
        ids = repository.ids_at(table, range(0, min(len(table), 64), 2))
        rows_file = folder / "rows.tsv"
        write_rows(repository, table, rows_file)
        with server(folder, "--query-cache-type=1", "--query-cache-size=0") as ask:
            ask(
                f"USE b; {TABLE}; LOAD DATA LOCAL INFILE '{rows_file}' INTO TABLE execs "
                f"(exec, {', '.join(COLUMNS.values())}, exe_time, start_time); ANALYZE TABLE execs"
            )
            run_count = ask("SELECT COUNT(*) FROM b.execs").split()[-1]
            print(f"MariaDB holds {int(run_count):,} runs, {ask('SELECT VERSION()').split()[-1]}")
            with served(repository.root, folder) as port:
                measure(port, folder / "socket", ids, ask)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
