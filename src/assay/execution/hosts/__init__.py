"""Reach a node: one Transport contract, local and SSH."""

from assay.execution.hosts.local import LocalTransport
from assay.execution.hosts.ssh import SshTransport, connect_ssh
from assay.execution.hosts.transport import CommandResult, RemoteProcess, Transport

__all__ = ["CommandResult", "LocalTransport", "RemoteProcess", "SshTransport", "Transport", "connect_ssh"]
