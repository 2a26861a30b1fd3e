"""Test SSH connections that fail or break: each is an error with a hint."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.execution.hosts import connect_ssh
from assay.foundation.errors import HostError
from assay.model.clusters.cluster import Address
from assay.specs import load_cluster
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


def has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("jump", [None, "127.0.0.1", "[::1]"])
async def test_hosts_and_jump_hosts_by_either_version_of_ip(sshd: LoopbackSshd, host: str, jump: str | None) -> None:
    if "::1" in (host, (jump or "").strip("[]")) and not has_ipv6():
        pytest.skip("no IPv6 on the loopback device here")
    through = None if jump is None else f"{sshd.address.user}@{jump}:{sshd.port}"
    transport = await connect_ssh("worker3", dataclasses.replace(sshd.address, host=host, jump=through))
    try:
        assert (await transport.run(["echo", "here"], timeout_s=20)).stdout == b"here\n"
    finally:
        await transport.close()


@pytest.mark.parametrize(
    "jump", ["127.0.0.1:70000", "[::1]:70000", "127.0.0.1:ssh", "alice@", "[::1", "[127.0.0.1]:22"]
)
async def test_a_jump_host_that_is_none_is_refused_with_a_message(sshd: LoopbackSshd, jump: str) -> None:
    with pytest.raises(HostError, match="is not a") as caught:
        await connect_ssh("worker3", dataclasses.replace(sshd.address, jump=jump))
    assert caught.value.where == f"jump {jump}"


def test_discover_takes_addresses_and_jump_hosts_of_ipv6(sshd: LoopbackSshd, tmp_path: Path) -> None:
    if not has_ipv6():
        pytest.skip("no IPv6 on the loopback device here")
    file = tmp_path / "cluster.yaml"
    user = sshd.address.user
    login = ["--key", str(sshd.address.key), "--known-hosts", str(sshd.address.known_hosts)]
    command = [sys.executable, "-m", "assay", "discover", f"{user}@[::1]:{sshd.port}", *login, "-o", str(file)]
    jump = f"{user}@[::1]:{sshd.port}"
    done = subprocess.run([*command, "--jump", jump], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (node,) = load_cluster(file).nodes
    assert node.address is not None
    assert (node.address.host, node.address.port, node.address.jump) == ("::1", sshd.port, jump)
    for words in (["w1:70000"], ["[::1]:70000"], ["w[1:9999][1:9999]"], ["w1", "--jump", "w2:70000"]):
        done = subprocess.run([*command[:4], *words], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode in (2, 3, 7), done.stderr
        assert "Traceback" not in done.stderr


async def test_an_unknown_host_name_is_an_error() -> None:
    assert "no host has the name" in (await refusal(Address("nowhere.invalid"))).message


async def test_connecting_to_a_closed_port_fails() -> None:
    assert "refuses port" in (await refusal(Address("127.0.0.1", free_port()))).message


async def test_a_server_that_never_answers_is_an_error() -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        writer.close()

    server = await asyncio.start_server(silence, "127.0.0.1", 0)
    error = await refusal(Address("127.0.0.1", server.sockets[0].getsockname()[1]), timeout_s=0.5)
    assert "does not answer within 0.5 s" in error.message
    server.close()


async def test_a_server_that_does_not_speak_ssh_is_an_error() -> None:
    async def web(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(web, "127.0.0.1", 0)
    error = await refusal(Address("127.0.0.1", server.sockets[0].getsockname()[1]))
    assert "does not speak SSH" in error.message
    server.close()


async def test_a_host_with_an_unknown_key_is_refused(sshd: LoopbackSshd, tmp_path: Path) -> None:
    (tmp_path / "known_hosts").write_text("")
    error = await refusal(dataclasses.replace(sshd.address, known_hosts=str(tmp_path / "known_hosts")))
    assert "is not known in" in error.message


async def test_a_host_with_a_changed_key_is_refused(sshd: LoopbackSshd, tmp_path: Path) -> None:
    other = write_key(tmp_path / "other")
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{sshd.port} {other}\n")
    error = await refusal(dataclasses.replace(sshd.address, known_hosts=str(tmp_path / "known_hosts")))
    assert "is not the one in" in error.message


async def test_a_key_that_the_host_does_not_accept(sshd: LoopbackSshd, tmp_path: Path) -> None:
    write_key(tmp_path / "stranger")
    error = await refusal(dataclasses.replace(sshd.address, key=str(tmp_path / "stranger")))
    assert "refused the login of" in error.message


@pytest.mark.parametrize("content", [None, b"this is no key\n"])
async def test_a_missing_or_broken_key_file_is_an_error(
    sshd: LoopbackSshd, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    error = await refusal(dataclasses.replace(sshd.address, key=str(tmp_path / "key")))
    assert "can't be used" in error.message


async def test_a_missing_known_hosts_file_is_an_error(sshd: LoopbackSshd, tmp_path: Path) -> None:
    error = await refusal(dataclasses.replace(sshd.address, known_hosts=str(tmp_path / "absent")))
    assert "absent" in error.message


async def test_a_connection_that_breaks_during_a_command_is_an_error_and_so_are_later_commands(
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
    code = "import sys, assay.execution.hosts; sys.exit('asyncssh' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
