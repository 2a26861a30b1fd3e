"""Compare the import of ALOJA's run tables, and one question on them, with a MariaDB server.

Takes ALOJA's ``execs`` table as CSV (5,907 runs) and synthetic tables of its wider form with 37,000 rows, or the given
numbers. assay imports into a new repository in this process with all checks, then computes ALOJA's speedup of terasort
by disk (``--method aloja``), first while the index is made, then again. MariaDB runs in a temporary folder and is
reached by a socket: LOAD DATA into a table, then the same averages in SQL. Both use the same disk and alternate. The
start of the client (``SELECT 1``) is subtracted. The table shows CPU time and wall time, as wall time depends on the
load of the machine; MariaDB's CPU time is the server's.

Debian: ``apt-get install mariadb-server-core mariadb-client-core``.
Run: ``.venv/bin/python benchmarks/import_mariadb.py EXECS.csv [ROWS…]``
"""

from __future__ import annotations

import csv
import getpass
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median

from assay.analysis.comparison.claims.published import aloja
from assay.store import ImportRequest, Repository
from assay.store.formats.catalogue import formats
from assay.store.formats.source import Source
from assay.store.index.tables import rows_of_table

WIDE_ROWS = 37_000
REPEATS = 3
WIDE_COLUMNS = (
    "ID",
    "Benchmark",
    "Exe.Time",
    "Net",
    "Disk",
    "Maps",
    "IO.SFac",
    "Rep",
    "IO.FBuf",
    "Comp",
    "Blk.size",
    "Cluster",
    "Cl.Name",
    "Datanodes",
    "Headnodes",
    "VM.OS",
    "VM.Cores",
    "VM.RAM",
    "Provider",
    "VM.Size",
    "Service.Type",
    "Bench.Type",
)
NUMBER_COLUMNS = {"exe_time", "Exe.Time"}


def wide_table(path: Path, rows: int) -> None:
    """Write a synthetic table of the wider form; the same each time."""
    generator = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(WIDE_COLUMNS)
        for number in range(1, rows + 1):
            cluster = generator.randrange(1, 9)
            writer.writerow(
                [
                    number,
                    generator.choice(("terasort", "sort", "wordcount")),
                    round(generator.lognormvariate(6, 0.5), 3),
                    generator.choice(("ETH", "IB")),
                    generator.choice(("HDD", "SSD", "RL1", "RL2", "RL3")),
                    generator.choice((4, 8, 12, 24)),
                    generator.choice((10, 20, 50)),
                    generator.choice((1, 2, 3)),
                    generator.choice((4096, 65536)),
                    f"Cmp{generator.randrange(4)}",
                    generator.choice((32, 64, 128)),
                    f"Cl{cluster}",
                    f"cloud-{cluster:02d}",
                    4,
                    1,
                    "linux",
                    8,
                    "56.000",
                    "azure",
                    "A7",
                    "IaaS",
                    "HiBench",
                ]
            )


def timed(call: Callable[[], object]) -> float:
    """Return how long a call takes, in seconds."""
    began = time.monotonic()
    call()
    return time.monotonic() - began


def wall_and_cpu_s(call: Callable[[], object], cpu_s: Callable[[], float]) -> tuple[float, float]:
    """Return the wall time of a call, and the CPU time that a process uses for it, in seconds."""
    cpu_before_s = cpu_s()
    return timed(call), cpu_s() - cpu_before_s


def cpu_of(pid: int) -> float:
    """Return the CPU time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def by_assay(table: Path, folder: Path) -> tuple[float, float, float, float]:
    """Return wall and CPU seconds of an import, and the seconds of the first and the second view."""
    repository = Repository.create(folder / "repository")
    format_ = formats(rows_of_table)["aloja"]
    source = Source(table, table.name)

    def import_table() -> None:
        files = [(table.name, table)]
        summary = repository.import_runs(
            "aloja", lambda: format_.items([source]), files, ImportRequest(by_rows=format_.by_rows)
        )
        print(f"    {summary.taken} runs imported, {len(summary.left)} rejected")

    def view() -> None:
        runs = repository.table()
        workload = runs.columns["workload"]
        aloja(runs.subset(workload.codes == workload.code("terasort")), "layout", "HDD")

    return *wall_and_cpu_s(import_table, time.process_time), timed(view), timed(view)


@contextmanager
def server(folder: Path, *options: str) -> Iterator[Callable[[str], str]]:
    """Start a MariaDB server that only ``folder / "socket"`` reaches; yield a function that runs SQL on it. The server
    ends with the block.

    Its process id is in ``folder / "pid"``.
    """
    user = getpass.getuser()
    data, socket = folder / "data", folder / "socket"
    install = ["mariadb-install-db", f"--datadir={data}", f"--user={user}", "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, capture_output=True)
    command = [
        "mariadbd",
        "--no-defaults",
        f"--datadir={data}",
        f"--socket={socket}",
        "--skip-networking",
        f"--user={user}",
        f"--pid-file={folder / 'pid'}",
        "--local-infile=1",
        *options,
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def ask(statement: str) -> str:
        client = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--local-infile=1", "--batch"]
        return subprocess.run(client, input=statement, text=True, check=True, capture_output=True).stdout

    try:
        deadline = time.monotonic() + 60
        while not socket.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        ask("CREATE DATABASE b")
        yield ask
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def by_mariadb(table: Path, ask: Callable[[str], str], pid: int) -> tuple[float, float, float]:
    """Return the seconds of loading, the server's CPU seconds, and those of the view, without the start of the
    client."""
    with table.open() as file:
        names = next(csv.reader(file))
    columns = ", ".join(f"`{n}` {'DOUBLE' if n in NUMBER_COLUMNS else 'VARCHAR(255)'}" for n in names)
    bench, disk, seconds = ("bench", "disk", "exe_time") if "bench" in names else ("Benchmark", "Disk", "Exe.Time")
    valid_condition = " AND valid = '1'" if "valid" in names else ""
    ask(f"DROP TABLE IF EXISTS b.runs; CREATE TABLE b.runs ({columns}, INDEX (`{bench}`), INDEX (`{disk}`))")
    client_start_s = median(timed(lambda: ask("SELECT 1")) for _ in range(REPEATS))
    statement = (
        f"LOAD DATA LOCAL INFILE '{table}' INTO TABLE b.runs FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' "
        "IGNORE 1 LINES"
    )
    load_s, cpu_s = wall_and_cpu_s(lambda: ask(statement), partial(cpu_of, pid))
    terasort_runs = f"b.runs WHERE `{bench}`='terasort'{valid_condition}"
    view_s = timed(
        lambda: ask(
            f"SELECT `{disk}`, (SELECT AVG(`{seconds}`) FROM {terasort_runs} AND `{disk}`='HDD') / AVG(`{seconds}`), "
            f"STDDEV(`{seconds}`), COUNT(*) FROM {terasort_runs} GROUP BY `{disk}`"
        )
    )
    return load_s - client_start_s, cpu_s, view_s - client_start_s


def main(execs: Path, sizes: Sequence[int]) -> None:
    """Measure all tables on both sides, in turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = [execs.absolute()]
        for rows in sizes:
            tables.append(folder / f"wide-{rows}.csv")
            wide_table(tables[-1], rows)
        has_mariadb = shutil.which("mariadbd") and shutil.which("mariadb-install-db")
        if not has_mariadb:
            print("MariaDB is not installed, so only assay is measured: see the top of this file")
        for table in tables:
            print(table.name)
            with server(Path(tempfile.mkdtemp(dir=folder))) if has_mariadb else nullcontext() as ask:
                assay_times, mariadb_times = [], []
                for _ in range(REPEATS):
                    assay_times.append(by_assay(table, Path(tempfile.mkdtemp(dir=folder))))
                    if ask:
                        mariadb_times.append(by_mariadb(table, ask, int(next(folder.glob("*/pid")).read_text())))
            load_s, load_cpu_s, first_view_s, view_s = (median(times) for times in zip(*assay_times, strict=True))
            print(
                f"  assay: import {load_s:.2f} s (CPU {load_cpu_s:.2f} s), first view {first_view_s * 1000:.0f} ms, "
                f"again {view_s * 1000:.0f} ms (medians, n = {REPEATS})"
            )
            if mariadb_times:
                mariadb_load_s, mariadb_cpu_s, mariadb_view_s = (
                    median(times) for times in zip(*mariadb_times, strict=True)
                )
                print(
                    f"  MariaDB: load {mariadb_load_s:.2f} s (CPU {mariadb_cpu_s:.2f} s), view "
                    f"{mariadb_view_s * 1000:.0f} ms (medians, n = {REPEATS})"
                )
                ratios = (load_s / mariadb_load_s, load_cpu_s / mariadb_cpu_s, view_s / mariadb_view_s)
                print("  ratio: import {:.1f} (CPU {:.1f}), view {:.2f}".format(*ratios))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), [int(word) for word in sys.argv[2:]] or [WIDE_ROWS])
    else:
        print("left out: it needs ALOJA's table of runs as its argument")
