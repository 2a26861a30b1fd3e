"""What engines have in common, to derive one of them from: an engine writes down only what is its own.

* :class:`DefaultRules`: nothing is a mistake, a job carries every parameter but those named.
* :class:`LockedProvider`: one assay at a time holds the cluster; what runs is kept while it fits and is in order.
* :class:`NoDaemons`: nothing that it started can die, be made cold, or has logs.
* :class:`ClientEngine`: programs are commands on the master, which end when their jobs have.
* :class:`SingleCopyStorage`: single-replica files whose metadata comes from listings.

They fulfil :mod:`assay.execution.engines.contract`, whose words hold for what is overridden here or by an engine.
"""
# ruff: noqa: ARG002 - what is the same for every argument is answered here

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

from assay.execution.engines.contract import Engine, EngineFacts, ProgramResult, ProvidedEngine, Show, Storage
from assay.execution.engines.timing import Heartbeat, split_times, timed
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

if TYPE_CHECKING:  # rules are asked for at plan time, which needs no way to reach hosts
    from assay.execution.hosts.transport import RemoteProcess, Transport

COMMAND_TIMEOUT_S = 60.0
_PROGRESS_INTERVAL_S = 1.0
_CUT_SHORT_S = 8.0


@dataclass(frozen=True, slots=True)
class DefaultRules:
    """Rules that refuse storage policies alone. Data are on the layout's ``hdfs`` devices, one copy of each file."""

    name: str
    defaults: tuple[Default, ...] = ()
    restarting: tuple[str, ...] = ()
    """The parameters that no job can carry: a new value needs a restart."""
    includes: tuple[str, ...] = ()

    @property
    def words(self) -> Mapping[str, tuple[str, ...]]:
        """None: plans name parameters."""
        return {}

    @property
    def parallelism(self) -> tuple[str, ...]:
        """None: a subclass names the parameters of its engine."""
        return ()

    def parameters(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return them as they are."""
        return dict(settings)

    def settings_of(self, recorded: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return them as they are."""
        return dict(recorded), ()

    def completed(self, settings: Mapping[str, str], workers: int) -> dict[str, str]:
        """Return them as they are: what a plan does not say is the engine's."""
        return dict(settings)

    def setting_mistake(self, name: str, value: str, cluster: Cluster) -> str | None:
        """None: only the engine could tell."""
        return None

    def mistakes(
        self, parameters: Mapping[str, str], cluster: Cluster, workers: int, written: Collection[str] = ()
    ) -> Iterator[Mistake]:
        """Yield none."""
        return iter(())

    def warnings(self, parameters: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
        """None."""
        return ()

    def carried_by_job(self, name: str) -> bool:
        """All that is not ``restarting``."""
        return name not in self.restarting

    def deployment_key(self, configuration: Configuration, cluster: Cluster) -> str:
        """Layout, parameters that no job carries, workers in use, and a network with separate addresses."""
        daemons = {name: value for name, value in configuration.parameters.items() if not self.carried_by_job(name)}
        network = cluster.networks.get(configuration.network or "")
        addresses = sorted(network.addresses.items()) if network else []
        layout = configuration.layout
        return json.dumps([layout.name, repr(layout), sorted(daemons.items()), configuration.workers, addresses])

    def file_system(self, configuration: Configuration, cluster: Cluster) -> str:
        """Name it after the layout, and after the workers where these are fewer than all."""
        fewer = configuration.workers not in (None, len(cluster.workers))
        return f"{configuration.layout.name}{f'.{configuration.workers}' if fewer else ''}"

    def layout_mistake(self, layout: Layout, node_type: NodeType) -> str | None:
        """Refuse a storage policy, which is HDFS's."""
        return f"layout {layout.name!r}: {self.name} has no storage policies" if layout.policy else None

    def spread(self, layout: Layout, node_type: NodeType, copies: int) -> Spread:
        """All copies over all directories."""
        return ((layout.hdfs, copies),)

    def containers_per_worker(self, parameters: Mapping[str, str]) -> int | None:
        """Return None: the engine has no containers."""
        return None

    def tasks_of_a_wave(self, parameters: Mapping[str, str], kind: str, workers: int) -> int:
        """One on each worker."""
        return workers

    def intermediate_bytes(self, one_pass_bytes: float, whole_bytes: float) -> float:
        """All that is shuffled: nothing is known to be removed before the end."""
        return whole_bytes

    def copies(self, parameters: Mapping[str, str]) -> int:
        """One."""
        return 1


class SingleCopyStorage(ABC):
    """A file system that keeps one copy of each file. As in object stores, a folder is there when a file is in it."""

    @abstractmethod
    async def lengths(self, path: str) -> Mapping[str, int]:
        """Return the files at and below ``path``, hidden ones too, by path with their lengths; none for nothing."""

    @abstractmethod
    async def read(self, path: str) -> bytes:
        """Return a small file's content."""

    @abstractmethod
    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a small file."""

    @abstractmethod
    async def delete(self, path: str) -> None:
        """Remove what is there, if anything."""

    async def _seen(self, path: str) -> dict[str, int]:
        lengths = await self.lengths(path)
        return {name: lengths[name] for name in sorted(lengths) if not name.rpartition("/")[2].startswith((".", "_"))}

    async def exists(self, path: str) -> bool:
        """Say whether a file is there, be it hidden."""
        return bool(await self.lengths(path))

    async def paths(self, path: str) -> list[str]:
        """Return the files in the order of their names."""
        return list(await self._seen(path))

    async def stored(self, path: str) -> StoredFiles:
        """Add up the lengths."""
        lengths = await self._seen(path)
        return StoredFiles(len(lengths), sum(lengths.values()), sum(lengths.values()))

    async def placements(self, layout: Layout, paths: Sequence[str]) -> tuple[Check, ...]:
        """None: it has no say in where files lie."""
        return ()


StorageT = TypeVar("StorageT", bound=Storage, covariant=True)


class NoDaemons:
    """The part of an engine that has no daemons of assay's."""

    rules: Rules

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        """None: nothing of it is to be made cold."""
        return {}

    @property
    def pid_files(self) -> Mapping[str, Mapping[str, str]]:
        """None of assay's."""
        return {}

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return the defaults of its rules, and what overrides them."""
        return {**{default.name: default.value for default in self.rules.defaults}, **parameters}

    async def health_check(self) -> str | None:
        """None: it has no daemons that could have died."""
        return None

    async def logs(self) -> dict[str, bytes]:
        """None: it has no daemons."""
        return {}


class ClientEngine(NoDaemons, ABC, Generic[StorageT]):
    """An engine whose programs are started by a client on the cluster's master, which ends when they have."""

    def __init__(
        self, facts: EngineFacts, storage: StorageT, cluster: Cluster, transports: Mapping[str, Transport]
    ) -> None:
        self._facts, self._storage = facts, storage
        self.cluster, self.master = cluster, transports[cluster.master.name]

    @property
    def facts(self) -> EngineFacts:
        """What it is."""
        return self._facts

    @property
    def storage(self) -> StorageT:
        """Where its programs read and write."""
        return self._storage

    @property
    def addresses(self) -> Mapping[str, str]:
        """The addresses that the cluster file gives, or this machine's own."""
        return self.cluster.hosts

    async def run(
        self, program: Program, parameters: Mapping[str, str], *, timeout_s: float, label: str, show: Show
    ) -> ProgramResult:
        """Run a program to its end; ``duration_s`` of the outcome is the client's wall time on the master."""
        if program.engine != self.facts.name:
            raise EngineError(f"{program.main_class} is a program of {program.engine}, which does not run here")
        show(f"{label}: {program.main_class}")
        return await self._shown(self.carry(program, parameters, timeout_s, label), show)

    async def check(
        self, program: Program, parameters: Mapping[str, str], *, reads_bytes: int, timeout_s: float, show: Show
    ) -> ProgramResult:
        """Run it as any other program."""
        return await self.run(program, parameters, timeout_s=timeout_s, label="check", show=show)

    async def cut_short(self) -> None:
        """End what a client that was cancelled has left running on the cluster. Bounded in time by the caller."""

    @abstractmethod
    async def carry(
        self, program: Program, parameters: Mapping[str, str], timeout_s: float, label: str
    ) -> ProgramResult:
        """Carry a program of this engine out, by :meth:`client`, and return what is known of its jobs."""

    async def progress(self) -> str | None:
        """Return where the running program is, in words; None where that is not known. Asked every second."""
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
        """Run a command on the master and return how it ended, with nothing of jobs and with what it printed as log.

        Its time is the master's, from exec to exit; assay's own where the master could not tell it.
        """
        started_unix_s, token = time.time(), f"assay-times-{secrets.token_hex(8)}"
        host_s: float | None = None
        late = lost = False
        async with Heartbeat() as heartbeat:
            try:
                done = await self.master.run(timed(command, token), timeout_s=timeout_s, check=False, cwd=cwd, env=env)
                host_s, stderr = split_times(done.stderr, token)
                status, printed = done.exit_status, done.stdout + b"\n" + stderr
            except HostError as error:
                late = isinstance(error, HostTimeoutError)
                lost = not late
                status, printed = 124 if late else 255, error.message.encode()
        pause = heartbeat.pause(host_s)
        if late and pause:  # the limit may have passed while assay was paused
            late, lost, printed = False, True, f"{pause}; its time limit passed meanwhile".encode()
        took_s, clock = (heartbeat.took_s, "assay's clock") if host_s is None else (host_s, "the master's clock")
        outcome = Outcome(status, printed.decode(errors="replace"), {}, 0, took_s, late, lost)
        sources = {"duration_s": f"wall time of the client program, by {clock}"}
        return ProgramResult(outcome, started_unix_s, logs={f"{label}.log": printed}, sources=sources, pause=pause)

    async def _shown(self, running: Awaitable[ProgramResult], show: Show) -> ProgramResult:
        """Show where the program is while it runs."""
        task = asyncio.ensure_future(running)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_PROGRESS_INTERVAL_S)
                if not task.done() and (now := await self.progress()):
                    show(now)
            return task.result()
        finally:
            if not task.done():
                await end_tasks(task)
                with contextlib.suppress(TimeoutError, AssayError):
                    async with asyncio.timeout(_CUT_SHORT_S):
                        await self.cut_short()


EngineT = TypeVar("EngineT", bound=Engine)


class LockedProvider(ABC, Generic[EngineT]):
    """Holds a cluster for one assay from :meth:`open` to :meth:`close`, and restarts only for what needs it."""

    rules: Rules

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        self.cluster, self.transports = cluster, transports
        self._hold: RemoteProcess | None = None
        self._facts: EngineFacts | None = None
        self._engine: EngineT | None = None
        self._key = ""

    @property
    def facts(self) -> EngineFacts:
        """What is installed. Raises EngineError before it is."""
        if self._facts is None:
            raise EngineError(f"{self.rules.name} is not there yet", where=self.cluster.name)
        return self._facts

    @property
    def engine(self) -> EngineT | None:
        """What was started last."""
        return self._engine

    @property
    def holder(self) -> Transport:
        """The host on which the cluster's lock lies."""
        return self.transports[self.cluster.master.name]

    @abstractmethod
    async def install(self, show: Show) -> EngineFacts:
        """Bring what is needed to the hosts, which are held already; end what an interrupted assay left there."""

    @abstractmethod
    async def engine_for(self, configuration: Configuration) -> EngineT:
        """Return an engine for ``configuration``, not started yet: the one before may run still."""

    async def start(self, engine: EngineT, configuration: Configuration, show: Show) -> None:
        """Start what :meth:`engine_for` returned, after what ran before was stopped."""

    async def kept(self, engine: EngineT, configuration: Configuration) -> None:
        """Take note that ``engine`` continues with ``configuration``, for which nothing is restarted."""

    async def stop(self, engine: EngineT) -> None:
        """End what was started."""

    async def leave(self, engine: EngineT) -> None:
        """Stop it for good, and remove what must not stay."""
        await self.stop(engine)

    async def open(self, show: Show) -> None:
        """Take hold of the cluster, then :meth:`install`. Nothing is held when either fails."""
        hold = await take_hold(self.holder, self.cluster)
        try:
            self._facts = await self.install(show)
        except BaseException:
            await _let_go(hold)
            raise
        self._hold = hold

    async def provide(self, configuration: Configuration, show: Show) -> ProvidedEngine:
        """Restart where the rules' deployment key is another, or what runs is in trouble."""
        _ = self.facts
        key = self.rules.deployment_key(configuration, self.cluster)
        if self._engine and key == self._key and await self._engine.health_check() is None:
            await self.kept(self._engine, configuration)
            return ProvidedEngine(self._engine, restarted=False)
        engine = await self.engine_for(configuration)
        if self._engine:
            if self.transports:
                show("stopping daemons")
            await self.stop(self._engine)
        self._engine, self._key = engine, key
        await self.start(engine, configuration, show)
        return ProvidedEngine(engine, restarted=True)

    async def close(self) -> None:
        """Leave what was started, and let go of the cluster."""
        hold, self._hold = self._hold, None
        engine, self._engine, self._facts = self._engine, None, None
        try:
            if engine:
                await self.leave(engine)
        finally:
            if hold:
                await _let_go(hold)


async def take_hold(master: Transport, cluster: Cluster) -> RemoteProcess:
    """Hold the cluster's lock on the master until the returned process's stdin closes, which a dead assay does too.

    Raises EngineError when another holds it, HostError when it can't be locked at all, as without locks on NFS.
    """
    await master.run(["mkdir", "-p", cluster.home], timeout_s=COMMAND_TIMEOUT_S)
    lock = f"{cluster.home}/lock"
    hold = await master.start(["flock", "--nonblock", lock, "sh", "-c", "echo held; exec cat"])
    first = await anext(aiter(hold.stdout), b"")
    if b"held" not in first:
        if (status := await hold.wait(COMMAND_TIMEOUT_S)) != 1:  # flock(1): 1 is a lock that another holds
            raise HostError(
                f"the cluster can't be locked: {hold.stderr_tail.strip() or f'flock ended with {status}'}",
                where=f"{master.name}: {lock}",
                hint="set home in the cluster file to a folder on a local disk of the master",
            )
        raise EngineError(
            f"another assay is using cluster {cluster.name!r}",
            where=f"{master.name}: {lock}",
            hint="wait until it has finished, or end it",
        )
    return hold


async def _let_go(hold: RemoteProcess) -> None:
    hold.close_stdin()
    with contextlib.suppress(HostError):  # it ends by itself; an unreaped child would outlive the event loop
        await hold.wait(COMMAND_TIMEOUT_S)
