"""Start a real sshd on a loopback port with its own keys and configuration."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

from assay.model.clusters.cluster import Address

_PRIVILEGE_SEPARATION = Path("/run/sshd")


@dataclass(frozen=True)
class LoopbackSshd:
    """The folder of the keys that a client needs, and the port of the server."""

    directory: Path
    port: int

    @property
    def address(self) -> Address:
        return Address(
            "127.0.0.1",
            self.port,
            user=getpass.getuser(),
            key=str(self.directory / "user_key"),
            known_hosts=str(self.directory / "known_hosts"),
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_key(path: Path) -> str:
    """Write a private key and return its public part as a line."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    path.write_bytes(key.export_private_key())
    path.chmod(0o600)
    return key.export_public_key().decode().strip()


@contextlib.contextmanager
def loopback_sshd(directory: Path, environment: Mapping[str, str] | None = None) -> Iterator[LoopbackSshd]:
    """Run sshd, whose commands get ``environment``, until the end of the block; skip the test if sshd is missing."""
    program = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        pytest.skip("no sshd on this machine: the SSH transport is NOT tested")
    port = free_port()
    # With SHLVL, bash leaves out the user's .bashrc, which may print or be slow.
    variables = " ".join(f"{name}={value}" for name, value in {"SHLVL": "1", **(environment or {})}.items())
    host_key = write_key(directory / "host_key")
    (directory / "known_hosts").write_text(f"[127.0.0.1]:{port},[::1]:{port} {host_key}\n")
    (directory / "authorized_keys").write_text(write_key(directory / "user_key") + "\n")
    (directory / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nListenAddress ::1\n"
        f"HostKey {directory}/host_key\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {directory}/authorized_keys\nStrictModes no\nPermitRootLogin yes\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxStartups 100\n"
        f"SetEnv {variables}\n"
    )
    creates_folder = os.geteuid() == 0 and not _PRIVILEGE_SEPARATION.exists()
    if creates_folder:
        _PRIVILEGE_SEPARATION.mkdir(mode=0o755)
    log = (directory / "sshd.log").open("wb")
    server = subprocess.Popen([program, "-D", "-e", "-f", str(directory / "sshd_config")], stderr=log)
    try:
        _wait_for(server, port, directory / "sshd.log")
        yield LoopbackSshd(directory, port)
    finally:
        server.terminate()
        server.wait(10)
        log.close()
        if creates_folder:
            with contextlib.suppress(OSError):
                _PRIVILEGE_SEPARATION.rmdir()


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"sshd did not start: {log.read_text()}")


def alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
