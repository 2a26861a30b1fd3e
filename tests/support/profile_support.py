"""Make repositories with profiled runs whose slow method is known."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.analysis.code_profile.seconds import StackTimes, times_text
from assay.analysis.code_profile.stacks import Stack, collapsed_text, parse_collapsed
from assay.analysis.statistics import started_unix_s
from assay.store import Repository
from builders import make_run

FACTS = {"kind": "cpu", "method": "async-profiler 4.6, ctimer", "reason": None, "interval_ms": 10}
BURN = "io/github/assay/jobs/Burner.burnCpu"

TWO_METHODS = """
import java.lang.management.*;
public class Slow {
    static volatile byte[] kept;
    static void burn(long cpu_ns) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long until = threads.getCurrentThreadCpuTime() + cpu_ns;
        while (threads.getCurrentThreadCpuTime() < until) kept = new byte[1000];
    }
    static void first() { burn(400_000_000L); }
    static void second() { burn(400_000_000L); }
    public static void main(String[] arguments) throws Exception {
        first();
        System.out.println(System.currentTimeMillis());
        Thread.sleep(1200);
        second();
    }
}
"""


@dataclass(frozen=True)
class ProfiledRepository:
    """A repository with three runs of each of two configurations; the second burns CPU in the reduces."""

    store: Repository
    first: str
    second: str


def add_run(
    store: Repository,
    number: int,
    layout: str,
    burn: int,
    *,
    facts: Mapping[str, object] | None = FACTS,
    timed: bool = False,
) -> str:
    """Publish a run with ``burn`` samples in the method that burns, in the phase reduce; return its id.

    With ``timed``, these samples are in second 3 of the run, and those of other methods of the phase in second 2.
    """
    run = make_run(number, layout=layout)
    logs = {
        "profiles/attempt_1.map.collapsed": f"a;org/apache/hadoop/util/QuickSort.sort {400 + number}\n".encode(),
        "profiles/attempt_2.reduce.collapsed": (
            f"a;{BURN} {burn}\na;org/apache/hadoop/hdfs/DFS.read 100\na;b</script>_method;c 7\n"
        ).encode(),
    }
    stacks, _ = parse_collapsed(logs["profiles/attempt_2.reduce.collapsed"].decode())
    started_s = int(started_unix_s(run))
    by_second: dict[int, Counter[Stack]] = {started_s + 2: Counter(), started_s + 3: Counter()}
    for stack, count in stacks.items():
        by_second[started_s + (3 if stack[-1] == BURN else 2)][stack] = count
    if timed:
        logs["profiles/attempt_2.reduce.collapsed"] = collapsed_text(stacks).encode()
        logs["profiles/attempt_2.reduce.seconds"] = times_text(StackTimes(1, by_second)).encode()
    environment = {**run.environment, **({"profile": facts} if facts else {})}
    store.publish(replace(run, environment=environment), logs=logs if facts else {})
    return run.run_id


def profiled_repository(root: Path) -> ProfiledRepository:
    """Create the repository; ids are those of the first run of each configuration."""
    store = Repository.create(root)
    first = [add_run(store, number, "HDD", 10 + number) for number in (1, 2, 3)]
    second = [add_run(store, number, "SS2", 900 + number) for number in (4, 5, 6)]
    return ProfiledRepository(store, first[0], second[0])


def run_two_methods(folder: Path, option: str) -> float:
    """Run a JVM with a profiler's option in which ``Slow.first`` and, after a pause, ``Slow.second`` burn CPU time.

    Return the middle of the pause in Unix seconds.
    """
    if not (folder / "Slow.class").exists():
        (folder / "Slow.java").write_text(TWO_METHODS)
        subprocess.run(["javac", "-d", folder, folder / "Slow.java"], check=True)
    command = ["java", option, "-cp", str(folder), "Slow"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return float(next(line for line in done.stdout.splitlines() if line.isdigit())) / 1000 + 0.6
