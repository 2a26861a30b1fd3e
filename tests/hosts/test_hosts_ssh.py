"""Connections that fail, and connections that break: each is an error in plain words with a hint."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import HostError
from assay.hosts import connect_ssh
from assay.model.cluster import Address
from hosts_support import LoopbackSshd, alive, free_port, loopback_sshd, write_key


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackSshd]:
    with loopback_sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


async def refusal(address: Address, timeout_s: float = 10) -> HostError:
    with pytest.raises(HostError) as caught:
        await connect_ssh("worker3", address, connect_timeout_s=timeout_s)
    assert caught.value.where == "worker3: ssh"
    assert caught.value.hint
    return caught.value


async def test_an_unknown_host_name() -> None:
    assert "no host has the name" in (await refusal(Address("nowhere.invalid"))).message


async def test_a_port_on_which_nobody_listens() -> None:
    assert "refuses port" in (await refusal(Address("127.0.0.1", free_port()))).message


async def test_a_server_that_never_says_a_word() -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        writer.close()

    server = await asyncio.start_server(silence, "127.0.0.1", 0)
    error = await refusal(Address("127.0.0.1", server.sockets[0].getsockname()[1]), timeout_s=0.5)
    assert "does not answer within 0.5 s" in error.message
    server.close()


async def test_a_server_that_does_not_speak_ssh() -> None:
    async def web(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(web, "127.0.0.1", 0)
    error = await refusal(Address("127.0.0.1", server.sockets[0].getsockname()[1]))
    assert "does not speak SSH" in error.message
    server.close()


async def test_a_host_whose_key_is_not_known(sshd: LoopbackSshd, tmp_path: Path) -> None:
    (tmp_path / "known_hosts").write_text("")
    error = await refusal(dataclasses.replace(sshd.address, known_hosts=str(tmp_path / "known_hosts")))
    assert "is not known in" in error.message


async def test_a_host_whose_key_has_changed(sshd: LoopbackSshd, tmp_path: Path) -> None:
    other = write_key(tmp_path / "other")
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{sshd.port} {other}\n")
    error = await refusal(dataclasses.replace(sshd.address, known_hosts=str(tmp_path / "known_hosts")))
    assert "is not the one in" in error.message


async def test_a_key_that_the_host_does_not_accept(sshd: LoopbackSshd, tmp_path: Path) -> None:
    write_key(tmp_path / "stranger")
    error = await refusal(dataclasses.replace(sshd.address, key=str(tmp_path / "stranger")))
    assert "does not let" in error.message


@pytest.mark.parametrize("content", [None, b"this is no key\n"])
async def test_a_key_file_that_is_missing_or_broken(sshd: LoopbackSshd, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    error = await refusal(dataclasses.replace(sshd.address, key=str(tmp_path / "key")))
    assert "can't be used" in error.message


async def test_a_known_hosts_file_that_is_missing(sshd: LoopbackSshd, tmp_path: Path) -> None:
    error = await refusal(dataclasses.replace(sshd.address, known_hosts=str(tmp_path / "absent")))
    assert "absent" in error.message


async def test_a_connection_that_breaks_under_a_command_is_an_error_and_so_is_what_comes_after(
    sshd: LoopbackSshd,
) -> None:
    node = await connect_ssh("n1", sshd.address)
    session = int((await node.run(["sh", "-c", "echo $PPID"], timeout_s=10)).stdout)
    process = await node.start(["cat"])
    running = asyncio.create_task(node.run(["sh", "-c", "cat; sleep 1"], timeout_s=30, stdin=b"x"))
    await asyncio.sleep(0.3)
    os.kill(session, signal.SIGKILL)
    with pytest.raises(HostError, match="connection was lost"):
        await running
    with pytest.raises(HostError, match="connection was lost"):
        await process.wait(10)
    with pytest.raises(HostError):
        await node.run(["true"], timeout_s=10)
    with pytest.raises(HostError):
        await node.forward("127.0.0.1", 1)
    for _ in range(100):
        if not alive(process.pid):
            break
        await asyncio.sleep(0.05)
    assert not alive(process.pid), "its stdin must have reached EOF"
    await node.close()


async def test_more_sessions_than_sshd_allows_is_an_error_with_a_hint(sshd: LoopbackSshd) -> None:
    node = await connect_ssh("n1", sshd.address)
    for _ in range(10):
        await node.start(["cat"])
    with pytest.raises(HostError) as caught:
        await node.start(["cat"])
    assert "MaxSessions" in (caught.value.hint or "")
    await node.close()


def test_importing_hosts_does_not_import_the_ssh_library() -> None:
    code = "import sys, assay.hosts; sys.exit('asyncssh' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
