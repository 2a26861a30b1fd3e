"""Test the sampler as a real process: counts, end, and missing sources."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.execution.hosts import LocalTransport
from assay.execution.observation.sampling import Sampler, SamplerOptions, parse_samples
from assay.execution.observation.scripts import command, source
from assay.foundation.errors import HostError
from assay.model.runs.traces.trace import Trace
from builders import words_of

pytestmark = pytest.mark.slow

NODE = "n1"


def lines_of(raw: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in raw.splitlines()]


def exists(path: str) -> bool:
    return Path(path).exists()


def on_real_disk(path: Path) -> bool:
    number = path.stat().st_dev
    device_prefix = f"{os.major(number)} {os.minor(number)} "
    return any(
        " ".join(line.split()).startswith(device_prefix) for line in Path("/proc/diskstats").read_text().splitlines()
    )


@pytest.mark.parametrize("name", ["sampler", "environment", "caches"])
def test_node_scripts_are_python_3_6_and_fit_an_argument(name: str) -> None:
    tree = ast.parse(source(name), feature_version=(3, 6))
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    } | {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {
        "ctypes",
        "errno",
        "glob",
        "json",
        "mmap",
        "os",
        "platform",
        "pwd",
        "re",
        "resource",
        "select",
        "socket",
        "stat",
        "subprocess",
        "sys",
        "time",
        "typing",
    }
    assert len(source(name).encode()) < 60_000


async def test_a_trace_has_every_metric_and_its_counters_only_grow(disk_path: Path) -> None:
    disks = {"d1": str(disk_path)} if on_real_disk(disk_path) else {}
    sampler = await Sampler.start(LocalTransport(NODE), SamplerOptions(interval_s=0.05, disks=disks))
    await asyncio.sleep(0.4)
    raw = await sampler.stop()
    trace = Trace()
    warnings = parse_samples(NODE, raw, lines_of(raw)[0]["t"], trace)
    assert set(trace.node) == {NODE}
    expected = {
        "cpu": {"user_s", "nice_s", "system_s", "iowait_s", "irq_s", "steal_s", "idle_s", "cores"},
        "memory": {"total_bytes", "free_bytes", "available_bytes", "cached_bytes", "dirty_bytes", "writeback_bytes"},
    }
    if exists("/proc/pressure/io"):
        expected["pressure"] = {"cpu_some_s", "io_some_s", "io_full_s", "memory_some_s", "memory_full_s"}
        assert warnings == []
    if disks:
        expected["disk:d1"] = {
            "read_bytes",
            "write_bytes",
            "reads",
            "writes",
            "read_s",
            "write_s",
            "busy_s",
            "queue_s",
            "read_merges",
            "write_merges",
        }
    for subject, metrics in expected.items():
        assert {m for s, m in zip(trace.subject, trace.metric, strict=True) if s == subject} == metrics
    for subject, metric in {(s, m) for s, m, c in zip(trace.subject, trace.metric, trace.counter, strict=True) if c}:
        values = [value for _, value in trace.series(NODE, subject, metric)]
        assert values == sorted(values), (subject, metric)
    assert trace.series(NODE, "cpu", "cores")[0][1] == os.cpu_count()
    total_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert trace.series(NODE, "memory", "total_bytes")[0][1] == pytest.approx(total_bytes, rel=0.01)


@given(due=st.integers(0, 1000), elapsed_s=st.floats(0, 2000), interval_s=st.sampled_from([0.05, 0.5, 1.0, 10.0]))
def test_deadlines_are_multiples_of_the_interval_and_lie_ahead(due: int, elapsed_s: float, interval_s: float) -> None:
    module: dict[str, Any] = {"__name__": "node_sampler"}
    exec(source("sampler"), module)
    next_number = module["next_sample_number"](due, elapsed_s, interval_s)
    assert next_number > due
    assert next_number * interval_s >= elapsed_s
    assert next_number == due + 1 or (next_number - 1) * interval_s <= elapsed_s * (1 + 1e-9)


async def test_no_two_samples_have_one_deadline() -> None:
    sampler = await Sampler.start(LocalTransport(NODE), SamplerOptions(interval_s=0.1))
    await asyncio.sleep(1.05)
    lines = lines_of(await sampler.stop())
    times = [line["t"] - lines[1]["t"] for line in lines if "cpu" in line][:-1]  # the last one is taken at the end
    deadlines = [int(t_s / 0.1 + 0.05) for t_s in times]
    assert len(deadlines) >= 2
    assert deadlines == sorted(set(deadlines))


async def test_disk_counters_grow_by_what_is_written(disk_path: Path) -> None:
    if not on_real_disk(disk_path):
        pytest.skip("the kernel counts no disk of the temporary directory: disk counters are NOT tested")
    sampler = await Sampler.start(LocalTransport(NODE), SamplerOptions(interval_s=5, disks={"d1": str(disk_path)}))
    with (disk_path / "written").open("wb") as file:
        file.write(os.urandom(32_000_000))
        file.flush()
        os.fsync(file.fileno())
    raw = await sampler.stop()
    trace = Trace()
    parse_samples(NODE, raw, 0.0, trace)
    written = [value for _, value in trace.series(NODE, "disk:d1", "write_bytes")]
    assert len(written) == 2, "one at the start and one at the end"
    assert written[-1] - written[0] >= 32_000_000
    operations = [value for _, value in trace.series(NODE, "disk:d1", "writes")]
    assert operations[-1] > operations[0]


async def test_cpu_counters_are_seconds(tmp_path: Path) -> None:
    sampler = await Sampler.start(LocalTransport(NODE), SamplerOptions(interval_s=5))
    await asyncio.sleep(0.6)
    raw = await sampler.stop()
    trace = Trace()
    parse_samples(NODE, raw, 0.0, trace)
    first, last = trace.series(NODE, "cpu", "user_s")[0], trace.series(NODE, "cpu", "user_s")[-1]
    elapsed_s = last[0] - first[0]
    parts = ("user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "steal_s")
    series = [trace.series(NODE, "cpu", part) for part in parts]
    total_s = sum(points[-1][1] - points[0][1] for points in series)
    assert total_s == pytest.approx(elapsed_s * (os.cpu_count() or 1), rel=0.35, abs=0.2)


async def test_an_unreadable_source_is_a_warning_and_the_others_are_sampled() -> None:
    options = SamplerOptions(
        interval_s=5,
        disks={"memory": "/dev/shm", "absent": "/no/such/disk"},
        nics=["nope0"],
        cgroup={"cpu": "/no/group", "memory": "/no/group"},
    )
    sampler = await Sampler.start(LocalTransport(NODE), options)
    raw = await sampler.stop()
    trace = Trace()
    warnings = "\n".join(words_of(parse_samples(NODE, raw, 0.0, trace)))
    assert "n1: disk:memory was not observed: /dev/shm is on device" in warnings
    assert "disk:absent was not observed: /no/such/disk: No such file" in warnings
    assert "nic:nope0 was not observed" in warnings
    assert "cgroup was not observed" in warnings
    assert trace.series(NODE, "cpu", "idle_s")


async def test_a_cgroup_of_version_1_or_2_is_read(tmp_path: Path) -> None:
    v1, v2 = tmp_path / "v1", tmp_path / "v2"
    for folder in (v1, v2):
        folder.mkdir()
    (v1 / "cpuacct.usage").write_text("2500000000\n")
    (v1 / "memory.usage_in_bytes").write_text("4096000\n")
    (v1 / "memory.stat").write_text("cache 1\nrss 2\ntotal_cache 3000000\ntotal_rss 1000000\n")
    (v2 / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    (v2 / "memory.current").write_text("4096000\n")
    (v2 / "memory.stat").write_text("anon 1000000\nfile 3000000\nfile_mapped 5\n")
    for folder in (v1, v2):
        group = {"cpu": str(folder), "memory": str(folder)}
        sampler = await Sampler.start(LocalTransport(NODE), SamplerOptions(interval_s=5, cgroup=group))
        trace = Trace()
        assert parse_samples(NODE, await sampler.stop(), 0.0, trace) == []
        metrics = ("cpu_s", "memory_bytes", "cache_bytes", "rss_bytes")
        values = [trace.series(NODE, "cgroup", metric)[0][1] for metric in metrics]
        assert values == [2.5, 4_096_000, 3_000_000, 1_000_000]


async def test_the_cgroup_of_the_kernel_is_read() -> None:
    candidates = [
        {"cpu": "/sys/fs/cgroup/cpuacct", "memory": "/sys/fs/cgroup/memory"},
        {"cpu": "/sys/fs/cgroup/system.slice", "memory": "/sys/fs/cgroup/system.slice"},
    ]
    group = next((candidate for candidate in candidates if exists(f"{candidate['memory']}/memory.stat")), None)
    if group is None:
        pytest.skip("no memory control group here: the kernel's own files are NOT tested")
    sampler = await Sampler.start(LocalTransport(NODE), SamplerOptions(interval_s=5, cgroup=group))
    trace = Trace()
    assert parse_samples(NODE, await sampler.stop(), 0.0, trace) == []
    assert trace.series(NODE, "cgroup", "cpu_s")[0][1] > 0
    assert trace.series(NODE, "cgroup", "memory_bytes")[0][1] > 0


async def test_the_sampler_ends_with_its_stdin() -> None:
    options = json.dumps({"interval_s": 30, "disks": {}, "nics": None, "cgroup": None})
    process = await LocalTransport(NODE).start([*command("sampler", {})[:-1], options])
    assert b"assay_sampler" in await anext(process.stdout)
    process.close_stdin()
    assert await process.wait(2) == 0


async def test_a_sampler_that_is_killed_leaves_what_it_sent_and_a_warning() -> None:
    sampler = await Sampler.start(LocalTransport(NODE), SamplerOptions(interval_s=0.05))
    await asyncio.sleep(0.3)
    os.kill(sampler._process.pid, signal.SIGKILL)
    raw = await sampler.stop()
    trace = Trace()
    (warning,) = parse_samples(NODE, raw, 0.0, trace)
    assert warning.words.startswith("n1: the sampler ended early, after ")
    assert len(trace.series(NODE, "cpu", "idle_s")) >= 2


async def test_a_node_without_python_is_an_error_with_a_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError) as caught:
        await Sampler.start(LocalTransport(NODE), SamplerOptions())
    assert caught.value.message == "there is no python3"
    assert caught.value.where == "n1: sampler"
    assert caught.value.hint


async def test_the_footer_states_the_cost_of_the_sampler() -> None:
    sampler = await Sampler.start(LocalTransport(NODE), SamplerOptions(interval_s=0.02))
    await asyncio.sleep(0.5)
    footer = next(line for line in lines_of(await sampler.stop()) if "end" in line)
    assert footer["samples"] > 5
    assert 0 < footer["cpu_s"] < 60


def _nics(folder: Path, links: dict[str, tuple[bool, str | None]]) -> set[str]:
    """Return the interfaces that the sampler counts. ``links`` states whether each has hardware, and its master."""
    module: dict[str, Any] = {"__name__": "node_sampler"}
    exec(source("sampler"), module)
    for name, (hardware, master) in links.items():
        (folder / name).mkdir()
        if hardware:
            (folder / name / "device").mkdir()
        if master:
            (folder / name / "master").symlink_to(folder / master)
    dev_file = folder / "dev"
    dev_file.write_text("Inter-|\n face |\n" + "".join(f"{name}: 1 0 0 0 0 0 0 0 2 0\n" for name in ["lo", *links]))
    file_class = module["File"]
    module["File"] = lambda _: file_class(str(dev_file))
    return set(module["Nics"](None, str(folder)).sample())


@pytest.mark.parametrize(
    ("links", "expected_names"),
    [
        ({"eth0": (True, "bond0"), "eth1": (True, "bond0"), "bond0": (False, None)}, {"eth0", "eth1"}),
        ({"eth0": (True, "br0"), "br0": (False, None), "veth3": (False, "br0")}, {"eth0"}),
        ({"eth0": (True, None), "vf0": (True, "eth0")}, {"eth0"}),
        ({"eth0": (False, None), "tap1": (False, None)}, {"eth0", "tap1"}),
    ],
    ids=["bond", "bridge", "virtual function", "lab"],
)
def test_no_byte_on_the_wire_is_counted_twice(
    tmp_path: Path, links: dict[str, tuple[bool, str | None]], expected_names: set[str]
) -> None:
    assert _nics(tmp_path, links) == expected_names
