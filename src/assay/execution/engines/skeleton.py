"""Provide base classes for engines, so that an engine defines only its differences.

* :class:`DefaultRules`: no value is a mistake, and a job carries every parameter that needs no restart.
* :class:`LockedProvider`: one assay process locks the cluster; a healthy engine is kept while its key is the same.
* :class:`NoDaemons`: an engine without daemons, data directories and logs.
* :class:`ClientEngine`: programs are commands on the master, which end when their jobs have ended.
* :class:`SingleCopyStorage`: single-replica files whose metadata comes from listings.

They implement :mod:`assay.execution.engines.contract`, whose docstrings also apply to overriding methods.
"""
# ruff: noqa: ARG002 - defaults that do not depend on the arguments

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from assay.execution.engines.contract import Engine, EngineFacts, ProgramResult, ProvidedEngine, ShowProgress, Storage
from assay.execution.engines.timing import Heartbeat, split_times, timed_command
from assay.foundation.cancellation import end_tasks
from assay.foundation.errors import AssayError, EngineError, HostError, HostTimeoutError
from assay.model import (
    Check,
    Cluster,
    Configuration,
    Default,
    Layout,
    Mistake,
    NodeType,
    Outcome,
    Program,
    Rules,
    Spread,
    StoredFiles,
)

if TYPE_CHECKING:  # rules are used at plan time, which needs no transports
    from assay.execution.hosts.transport import RemoteProcess, Transport

COMMAND_TIMEOUT_S = 60.0
"""Maximum time of a short command on a host, in seconds."""
_PROGRESS_INTERVAL_S = 1.0
"""Time between two queries of a program's progress, in seconds."""
_END_JOBS_TIMEOUT_S = 8.0
"""Maximum time for ending the jobs of a cancelled client, in seconds."""


@dataclass(frozen=True, slots=True)
class DefaultRules:
    """Rules that refuse only storage policies. Data are on the layout's ``hdfs`` devices, with one copy of each
    file."""

    name: str
    defaults: tuple[Default, ...] = ()
    restart_parameters: tuple[str, ...] = ()
    """Parameters that no job can carry: a new value requires a restart."""
    includes: tuple[str, ...] = ()

    @property
    def shorthands(self) -> Mapping[str, tuple[str, ...]]:
        """No shorthands: plans name parameters."""
        return {}

    @property
    def parallelism(self) -> tuple[str, ...]:
        """No parameters; a subclass names its engine's parameters."""
        return ()

    def parameters(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return ``settings`` unchanged."""
        return dict(settings)

    def settings_of(self, recorded_settings: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return ``recorded_settings`` unchanged."""
        return dict(recorded_settings), ()

    def with_required_settings(self, settings: Mapping[str, str], workers: int) -> dict[str, str]:
        """Return ``settings`` unchanged; the engine's defaults apply to the rest."""
        return dict(settings)

    def setting_mistake(self, name: str, value: str, cluster: Cluster) -> str | None:
        """Return None: only the engine can check a value."""
        return None

    def mistakes(
        self, parameters: Mapping[str, str], cluster: Cluster, workers: int, stated_names: Collection[str] = ()
    ) -> Iterator[Mistake]:
        """Yield no mistakes."""
        return iter(())

    def warnings(self, parameters: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
        """Return no warnings."""
        return ()

    def job_can_set(self, name: str) -> bool:
        """Return whether ``name`` is not in ``restart_parameters``."""
        return name not in self.restart_parameters

    def deployment_key(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return a key of the layout, the parameters that no job carries, the workers in use, and the network's
        addresses."""
        daemon_parameters = {
            name: value for name, value in configuration.parameters.items() if not self.job_can_set(name)
        }
        network = cluster.networks.get(configuration.network or "")
        addresses = sorted(network.addresses.items()) if network else []
        layout = configuration.layout
        return json.dumps(
            [layout.name, repr(layout), sorted(daemon_parameters.items()), configuration.workers, addresses]
        )

    def file_system(self, configuration: Configuration, cluster: Cluster) -> str:
        """Return the layout's name, followed by the number of workers if not all are used."""
        uses_fewer = configuration.workers not in (None, len(cluster.workers))
        return f"{configuration.layout.name}{f'.{configuration.workers}' if uses_fewer else ''}"

    def layout_mistake(self, layout: Layout, node_type: NodeType) -> str | None:
        """Return a message for a storage policy, which only HDFS has; None without a policy."""
        return f"layout {layout.name!r}: {self.name} has no storage policies" if layout.policy else None

    def spread(self, layout: Layout, node_type: NodeType, copies: int) -> Spread:
        """Spread all copies over the layout's ``hdfs`` directories."""
        return ((layout.hdfs, copies),)

    def containers_per_worker(self, parameters: Mapping[str, str]) -> int | None:
        """Return None: the engine has no containers."""
        return None

    def tasks_of_a_wave(self, parameters: Mapping[str, str], kind: str, workers: int) -> int:
        """Return one task per worker."""
        return workers

    def intermediate_bytes(self, one_pass_bytes: float, all_passes_bytes: float) -> float:
        """Return ``all_passes_bytes``: intermediate data may remain until the end."""
        return all_passes_bytes

    def copies(self, parameters: Mapping[str, str]) -> int:
        """Return 1."""
        return 1


class SingleCopyStorage(ABC):
    """A file system that stores one copy of each file. As in object stores, a folder exists if it contains a file."""

    @abstractmethod
    async def lengths(self, path: str) -> Mapping[str, int]:
        """Return the path and length of each file at and below ``path``, including hidden files; empty without
        files."""

    @abstractmethod
    async def read(self, path: str) -> bytes:
        """Return a small file's content."""

    @abstractmethod
    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a small file."""

    @abstractmethod
    async def delete(self, path: str) -> None:
        """Remove a file or folder, if it exists."""

    async def _visible_files(self, path: str) -> dict[str, int]:
        """Return the lengths of the files below ``path`` whose names do not begin with ``.`` or ``_``."""
        lengths = await self.lengths(path)
        return {name: lengths[name] for name in sorted(lengths) if not name.rpartition("/")[2].startswith((".", "_"))}

    async def exists(self, path: str) -> bool:
        """Return whether a file exists at or below ``path``, including hidden files."""
        return bool(await self.lengths(path))

    async def paths(self, path: str) -> list[str]:
        """Return the paths of visible files, sorted."""
        return list(await self._visible_files(path))

    async def stored(self, path: str) -> StoredFiles:
        """Return the number of visible files and their total length."""
        lengths = await self._visible_files(path)
        return StoredFiles(len(lengths), sum(lengths.values()), sum(lengths.values()))

    async def placements(self, layout: Layout, paths: Sequence[str]) -> tuple[Check, ...]:
        """Return no checks: this storage does not control placement."""
        return ()


StorageT = TypeVar("StorageT", bound=Storage, covariant=True)


class NoDaemons:
    """The methods of an engine without daemons of assay."""

    rules: Rules

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        """No directories: the engine has no data that must be cold."""
        return {}

    @property
    def pid_files(self) -> Mapping[str, Mapping[str, str]]:
        """No pid files, because assay started no daemons."""
        return {}

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return the defaults of the engine's rules, overridden by ``parameters``."""
        return {**{default.name: default.value for default in self.rules.defaults}, **parameters}

    async def health_check(self) -> str | None:
        """Return None: there are no daemons that could have died."""
        return None

    async def logs(self) -> dict[str, bytes]:
        """Return no logs, because there are no daemons."""
        return {}


class ClientEngine(NoDaemons, ABC, Generic[StorageT]):
    """An engine with a client on the master that starts a program and ends when the program has ended."""

    def __init__(
        self, facts: EngineFacts, storage: StorageT, cluster: Cluster, transports: Mapping[str, Transport]
    ) -> None:
        self._facts, self._storage = facts, storage
        self.cluster, self.master = cluster, transports[cluster.master.name]

    @property
    def facts(self) -> EngineFacts:
        """Facts of the engine."""
        return self._facts

    @property
    def storage(self) -> StorageT:
        """The storage that its programs read and write."""
        return self._storage

    @property
    def addresses(self) -> Mapping[str, str]:
        """The addresses in the cluster file, or this machine's."""
        return self.cluster.hosts

    async def run(
        self, program: Program, parameters: Mapping[str, str], *, timeout_s: float, label: str, show: ShowProgress
    ) -> ProgramResult:
        """Run a program to its end; ``duration_s`` of the outcome is the client's wall time on the master."""
        if program.engine != self.facts.name:
            raise EngineError(f"{program.main_class} is a program of {program.engine}, not of this engine")
        show(f"{label}: {program.main_class}")
        return await self._show_progress(self.run_client(program, parameters, timeout_s, label), show)

    async def check(
        self, program: Program, parameters: Mapping[str, str], *, reads_bytes: int, timeout_s: float, show: ShowProgress
    ) -> ProgramResult:
        """Run the program like any other."""
        return await self.run(program, parameters, timeout_s=timeout_s, label="check", show=show)

    async def end_jobs(self) -> None:
        """End jobs that a cancelled client has left running on the cluster. The caller limits the time."""

    @abstractmethod
    async def run_client(
        self, program: Program, parameters: Mapping[str, str], timeout_s: float, label: str
    ) -> ProgramResult:
        """Run a program of this engine with :meth:`client`, and return its result with its jobs."""

    async def progress(self) -> str | None:
        """Return the progress of the running program as text; None if it is unknown. Called every second."""
        return None

    async def client(
        self,
        command: Sequence[str],
        timeout_s: float,
        label: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ProgramResult:
        """Run a command on the master; return its outcome, with its output as the log, without jobs.

        The duration is from exec to exit by the master's clock; by assay's clock if the master reported no times.
        """
        started_unix_s, token = time.time(), f"assay-times-{secrets.token_hex(8)}"
        master_s: float | None = None
        is_late = is_lost = False
        async with Heartbeat() as heartbeat:
            try:
                result = await self.master.run(
                    timed_command(command, token), timeout_s=timeout_s, check=False, cwd=cwd, env=env
                )
                master_s, stderr = split_times(result.stderr, token)
                status, output = result.exit_status, result.stdout + b"\n" + stderr
            except HostError as error:
                is_late = isinstance(error, HostTimeoutError)
                is_lost = not is_late
                status, output = 124 if is_late else 255, error.message.encode()
        pause = heartbeat.pause(master_s)
        if is_late and pause:  # the limit may have passed while assay was paused
            is_late, is_lost, output = False, True, f"{pause}; its time limit passed meanwhile".encode()
        took_s, clock = (heartbeat.took_s, "assay's clock") if master_s is None else (master_s, "the master's clock")
        outcome = Outcome(status, output.decode(errors="replace"), {}, 0, took_s, is_late, is_lost)
        sources = {"duration_s": f"wall time of the client program, by {clock}"}
        return ProgramResult(
            outcome, started_unix_s, logs={f"{label}.log": output}, sources=sources, process_paused=pause
        )

    async def _show_progress(self, program_run: Awaitable[ProgramResult], show: ShowProgress) -> ProgramResult:
        """Show the program's progress while it runs."""
        task = asyncio.ensure_future(program_run)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_PROGRESS_INTERVAL_S)
                if not task.done() and (progress_text := await self.progress()):
                    show(progress_text)
            return task.result()
        finally:
            if not task.done():
                await end_tasks(task)
                with contextlib.suppress(TimeoutError, AssayError):
                    async with asyncio.timeout(_END_JOBS_TIMEOUT_S):
                        await self.end_jobs()


EngineT = TypeVar("EngineT", bound=Engine)


class LockedProvider(ABC, Generic[EngineT]):
    """Locks a cluster for one assay process from :meth:`open` to :meth:`close`, and restarts only if necessary."""

    rules: Rules

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        self.cluster, self.transports = cluster, transports
        self._lock_process: RemoteProcess | None = None
        self._facts: EngineFacts | None = None
        self._engine: EngineT | None = None
        self._key = ""

    @property
    def facts(self) -> EngineFacts:
        """Facts of the installed engine. Raises EngineError before :meth:`open`."""
        if self._facts is None:
            raise EngineError(f"{self.rules.name} is not installed yet", where=self.cluster.name)
        return self._facts

    @property
    def engine(self) -> EngineT | None:
        """The engine that was provided last."""
        return self._engine

    @property
    def holder(self) -> Transport:
        """The host with the cluster's lock."""
        return self.transports[self.cluster.master.name]

    @abstractmethod
    async def install(self, show: ShowProgress) -> EngineFacts:
        """Copy missing files to the hosts, and end processes that an interrupted assay left. The cluster is already
        locked."""

    @abstractmethod
    async def engine_for(self, configuration: Configuration) -> EngineT:
        """Return an engine for ``configuration`` that is not started yet. The previous engine may still run."""

    async def start(self, engine: EngineT, configuration: Configuration, show: ShowProgress) -> None:
        """Start the engine of :meth:`engine_for`. The previous engine has been stopped."""

    async def on_reuse(self, engine: EngineT, configuration: Configuration, show: ShowProgress) -> None:
        """Update ``engine``, which continues with ``configuration`` without a restart."""

    async def stop(self, engine: EngineT) -> None:
        """Stop the engine that :meth:`start` has started."""

    async def leave(self, engine: EngineT) -> None:
        """Stop the engine at the end of the campaign, and remove data that must not remain on the hosts."""
        await self.stop(engine)

    async def open(self, show: ShowProgress) -> None:
        """Lock the cluster, then :meth:`install`. If either fails, the cluster is unlocked."""
        lock_process = await lock_until_exit(self.holder, self.cluster)
        try:
            self._facts = await self.install(show)
        except BaseException:
            await _release_lock(lock_process)
            raise
        self._lock_process = lock_process

    async def provide(self, configuration: Configuration, show: ShowProgress) -> ProvidedEngine:
        """Restart if the deployment key differs from the running engine's, or if the running engine is not healthy."""
        _ = self.facts  # raises EngineError before open()
        key = self.rules.deployment_key(configuration, self.cluster)
        if self._engine and key == self._key and await self._engine.health_check() is None:
            await self.on_reuse(self._engine, configuration, show)
            return ProvidedEngine(self._engine, is_restarted=False)
        engine = await self.engine_for(configuration)
        if self._engine:
            if self.transports:
                show("stopping daemons")
            await self.stop(self._engine)
        self._engine, self._key = engine, key
        await self.start(engine, configuration, show)
        return ProvidedEngine(engine, is_restarted=True)

    async def close(self) -> None:
        """Call :meth:`leave` for the last engine, and unlock the cluster."""
        lock_process, self._lock_process = self._lock_process, None
        engine, self._engine, self._facts = self._engine, None, None
        try:
            if engine:
                await self.leave(engine)
        finally:
            if lock_process:
                await _release_lock(lock_process)


async def lock_until_exit(master: Transport, cluster: Cluster) -> RemoteProcess:
    """Lock the cluster on the master until the stdin of the returned process closes, as it does when assay dies.

    Raises EngineError when another process holds the lock, HostError when locking fails, for example on NFS without
    locks.
    """
    await master.run(["mkdir", "-p", cluster.home], timeout_s=COMMAND_TIMEOUT_S)
    lock = f"{cluster.home}/lock"
    lock_process = await master.start(["flock", "--nonblock", lock, "sh", "-c", "echo held; exec cat"])
    first_line = await anext(aiter(lock_process.stdout), b"")
    if b"held" not in first_line:
        status = await lock_process.wait(COMMAND_TIMEOUT_S)
        if status != 1:  # flock(1): 1 means that another process holds the lock
            raise HostError(
                f"the cluster can't be locked: {lock_process.stderr_tail.strip() or f'flock ended with {status}'}",
                where=f"{master.name}: {lock}",
                hint="set home in the cluster file to a folder on a local disk of the master",
            )
        raise EngineError(
            f"another assay is using cluster {cluster.name!r}",
            where=f"{master.name}: {lock}",
            hint="wait until it has finished, or end it",
        )
    return lock_process


async def _release_lock(lock_process: RemoteProcess) -> None:
    lock_process.close_stdin()
    with contextlib.suppress(HostError):  # it ends by itself; an unreaped child would outlive the event loop
        await lock_process.wait(COMMAND_TIMEOUT_S)
