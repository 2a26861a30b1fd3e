"""Reach a node: one Transport contract, local and SSH."""

from assay.hosts.local import LocalTransport
from assay.hosts.ssh import SshTransport, connect_ssh
from assay.hosts.transport import CommandResult, RemoteProcess, Transport

__all__ = ["CommandResult", "LocalTransport", "RemoteProcess", "SshTransport", "Transport", "connect_ssh"]
