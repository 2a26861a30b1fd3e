"""Test the contract of transports with the local transport and a real sshd."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from assay.execution.hosts import LocalTransport, Transport, connect_ssh
from assay.foundation.errors import HostError
from hosts_support import LoopbackSshd, alive, loopback_sshd

AWKWARD = ["two words", "line\nbreak", 'it\'s "quoted"', "$HOME `id` \\ !x *", "-n", "", "Grüße 漢字 🐘", "tab\tend\n"]


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackSshd]:
    with loopback_sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture(params=["local", pytest.param("ssh", marks=pytest.mark.daemon)])
async def node(request: pytest.FixtureRequest) -> AsyncIterator[Transport]:
    transport: Transport
    if request.param == "local":
        transport = LocalTransport("n1")
    else:
        transport = await connect_ssh("n1", request.getfixturevalue("sshd").address)
    yield transport
    await transport.close()


async def eventually(condition: Callable[[], bool]) -> bool:
    """Whether the condition comes true within 10 s."""
    for _ in range(200):
        if condition():
            return True
        await asyncio.sleep(0.05)
    return False


async def test_arguments_pass_verbatim(node: Transport) -> None:
    script = "import os, sys; os.write(1, b'\\0'.join(os.fsencode(a) for a in sys.argv[1:]))"
    done = await node.run(["python3", "-c", script, *AWKWARD], timeout_s=20)
    assert done.stdout.split(b"\0") == [word.encode() for word in AWKWARD]
    assert done.exit_status == 0
    assert done.stderr == b""


async def test_streams_are_exact_bytes_both_ways(node: Transport) -> None:
    data = os.urandom(3_000_000) + b"\r\n\0\xff\x1a"
    done = await node.run(["sh", "-c", "tee /dev/stderr"], stdin=data, timeout_s=30)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()
    assert done.stderr == data[-len(done.stderr) :]
    assert len(done.stderr) >= 60_000


async def test_a_command_without_input_sees_the_end_of_stdin(node: Transport) -> None:
    assert (await node.run(["cat"], timeout_s=10)).stdout == b""


async def test_a_command_that_does_not_read_its_input_is_no_error(node: Transport) -> None:
    done = await node.run(["true"], stdin=bytes(5_000_000), timeout_s=10)
    assert done.exit_status == 0


async def test_environment_and_directory_are_passed(node: Transport, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    value = "it's\n$HOME ü"
    done = await node.run(
        ["sh", "-c", 'pwd; printf %s "$ASSAY_X"'], timeout_s=10, env={"ASSAY_X": value}, cwd=str(tmp_path / "a b")
    )
    assert done.stdout.decode() == f"{tmp_path}/a b\n{value}"


async def test_a_missing_working_directory_is_an_error_that_names_it(node: Transport) -> None:
    with pytest.raises(HostError, match="/no/such/place"):
        await node.run(["pwd"], timeout_s=10, cwd="/no/such/place")


async def test_a_failing_command_names_node_command_status_and_the_end_of_stderr(node: Transport) -> None:
    with pytest.raises(HostError) as caught:
        await node.run(["sh", "-c", "echo early; echo 'disk on fire' >&2; exit 7"], timeout_s=10)
    assert caught.value.where is not None
    assert caught.value.where.startswith("n1: sh -c ")
    assert caught.value.message == "exit status 7: disk on fire"


async def test_without_check_the_status_is_returned(node: Transport) -> None:
    done = await node.run(["sh", "-c", "echo out; echo err >&2; exit 7"], timeout_s=10, check=False)
    assert (done.exit_status, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


async def test_a_signal_is_a_negative_status(node: Transport) -> None:
    done = await node.run(["sh", "-c", "kill -KILL $$"], timeout_s=10, check=False)
    assert done.exit_status == -signal.SIGKILL


async def test_a_missing_program_ends_with_127(node: Transport) -> None:
    done = await node.run(["no-such-program-here"], timeout_s=10, check=False)
    assert done.exit_status == 127
    assert b"no-such-program-here" in done.stderr


@pytest.mark.parametrize("argv", [[], [""], ["echo", "a\0b"]])
async def test_an_argument_with_a_null_byte_is_an_error(node: Transport, argv: list[str]) -> None:
    with pytest.raises(HostError, match="can't be run"):
        await node.run(argv, timeout_s=10)


@pytest.mark.slow
async def test_a_timeout_ends_the_process_and_its_children(node: Transport, tmp_path: Path) -> None:
    script = f"sleep 300 & echo $! >{tmp_path}/child; echo $$ >{tmp_path}/parent; wait"
    with pytest.raises(HostError, match="took longer than 1 s") as caught:
        await node.run(["sh", "-c", script], timeout_s=1)
    assert caught.value.where is not None
    for process in ("parent", "child"):
        assert not alive(int((tmp_path / process).read_text())), process


@pytest.mark.slow
async def test_a_timeout_ends_a_process_that_ignores_sigterm(node: Transport, tmp_path: Path) -> None:
    script = f"trap '' TERM; echo $$ >{tmp_path}/pid; while :; do sleep 1; done"
    with pytest.raises(HostError, match="took longer"):
        await node.run(["sh", "-c", script], timeout_s=0.5)
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_a_cancellation_ends_the_process(node: Transport, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    running = asyncio.create_task(node.run(["sh", "-c", f"echo $$ >{file}; exec sleep 300"], timeout_s=60))
    assert await eventually(lambda: file.exists() and file.read_text().endswith("\n"))
    pid = int(file.read_text())
    assert alive(pid)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(pid)


async def test_a_cancellation_right_at_the_start_leaves_nothing(node: Transport, tmp_path: Path) -> None:
    for delay_s in (0, 0.0005, 0.002, 0.005):
        script = f"echo $$ >>{tmp_path}/pids; exec sleep 300"
        running = asyncio.create_task(node.run(["sh", "-c", script], timeout_s=60))
        await asyncio.sleep(delay_s)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    pids = tmp_path / "pids"
    assert not pids.exists() or not any(alive(int(line)) for line in pids.read_text().split())


async def test_thirty_commands_run_at_the_same_time(node: Transport) -> None:
    done = await asyncio.gather(*(node.run(["echo", str(i)], timeout_s=30) for i in range(30)))
    assert [int(result.stdout) for result in done] == list(range(30))


async def test_a_foreground_process_talks_line_by_line_and_ends_at_the_end_of_stdin(node: Transport) -> None:
    process = await node.start(["sh", "-c", "echo one; echo two; echo trouble >&2; cat >/dev/null; echo end; exit 3"])
    lines = []
    async for line in process.stdout:
        lines.append(line)
        if line == b"two\n":
            assert process.exit_status is None
            assert alive(process.pid)
            process.close_stdin()
    assert lines == [b"one\n", b"two\n", b"end\n"]
    assert await process.wait(10) == 3
    assert process.exit_status == 3
    assert process.stderr_tail == "trouble\n"


async def test_a_foreground_process_gets_environment_and_directory(node: Transport, tmp_path: Path) -> None:
    process = await node.start(["sh", "-c", "pwd; echo $ASSAY_X"], env={"ASSAY_X": "y"}, cwd=str(tmp_path))
    assert [line async for line in process.stdout] == [f"{tmp_path}\n".encode(), b"y\n"]


async def test_waiting_for_a_foreground_process_is_bounded(node: Transport) -> None:
    process = await node.start(["cat"])
    with pytest.raises(HostError, match="still runs after"):
        await process.wait(0.3)
    await process.terminate()


async def test_terminate_ends_a_foreground_process_and_its_children(node: Transport) -> None:
    process = await node.start(["sh", "-c", "sleep 300 & echo $!; wait"])
    child = int(await anext(process.stdout))
    await process.terminate()
    assert not alive(process.pid)
    assert not alive(child)
    assert process.exit_status is not None
    await process.terminate()


async def test_foreground_processes_see_the_end_of_stdin_when_the_transport_closes(node: Transport) -> None:
    process = await node.start(["cat"])
    pid = process.pid
    await node.close()
    assert await eventually(lambda: not alive(pid))


async def test_a_daemon_outlives_the_connection_and_writes_its_log(node: Transport, tmp_path: Path) -> None:
    log, pid_file = tmp_path / "logs" / "a b.log", tmp_path / "run" / "daemon.pid"
    log.parent.mkdir()
    log.write_text("before\n")
    script = "echo $ASSAY_X; pwd; echo err >&2; cat; exec sleep 300"
    pid = await node.spawn(
        ["sh", "-c", script], log=str(log), pid_file=str(pid_file), env={"ASSAY_X": "x"}, cwd=str(tmp_path)
    )
    try:
        assert int(pid_file.read_text()) == pid
        await node.close()
        assert await eventually(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")
        assert log.read_text() == f"before\nx\n{tmp_path}\nerr\n"
        assert os.getsid(pid) == pid
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_a_daemon_whose_program_is_missing_is_an_error(node: Transport, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="not found"):
        await node.spawn(["no-such-daemon"], log=str(tmp_path / "l"), pid_file=str(tmp_path / "p"))


async def test_files_are_written_whole_with_their_mode_and_read_back(node: Transport, tmp_path: Path) -> None:
    path, data = tmp_path / "new dir" / "it's.bin", os.urandom(700_000)
    await node.write_file(str(path), data, mode=0o640)
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    await node.write_file(str(path), b"")
    assert await node.read_file(str(path)) == b""
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [entry.name for entry in path.parent.iterdir()] == ["it's.bin"]
    path.write_bytes(data)
    assert await node.read_file(str(path)) == data


async def test_a_file_that_cannot_be_read_or_written_is_an_error_that_names_it(node: Transport, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="No such file") as caught:
        await node.read_file(str(tmp_path / "absent"))
    assert caught.value.where == f"n1: read {tmp_path}/absent"
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HostError):
        await node.write_file(str(tmp_path / "file" / "below"), b"x")


async def test_a_full_disk_is_an_error_with_a_message(node: Transport) -> None:
    with pytest.raises(HostError, match="No space left"):
        await node.run(["sh", "-c", "cat >/dev/full"], stdin=b"x", timeout_s=10)


async def test_a_tree_is_copied_as_a_whole(node: Transport, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin" / "run.sh").write_bytes(b"#!/bin/sh\n")
    (source / "bin" / "run.sh").chmod(0o755)
    (source / "lib ü").mkdir()
    (source / "lib ü" / "a.jar").write_bytes(os.urandom(500_000))
    (source / "link").symlink_to("lib ü/a.jar")
    remote = tmp_path / "far" / "away"
    await node.put_tree(source, str(remote))
    assert (remote / "lib ü" / "a.jar").read_bytes() == (source / "lib ü" / "a.jar").read_bytes()
    assert stat.S_IMODE((remote / "bin" / "run.sh").stat().st_mode) == 0o755
    assert (remote / "link").readlink() == Path("lib ü/a.jar")


async def test_a_forwarded_port_reaches_what_the_node_sees(node: Transport) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    host, local_port = await node.forward("127.0.0.1", port)
    assert await node.forward("127.0.0.1", port) == (host, local_port)
    reader, writer = await asyncio.open_connection(host, local_port)
    writer.write(b"hello\n")
    assert await reader.readline() == b"HELLO\n"
    writer.close()
    server.close()
