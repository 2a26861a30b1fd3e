"""A third engine, as small as one can be: programs are commands on the master, its storage is a folder there.

It stands for whoever writes an engine: rules, provider, engine and storage, and nothing of any other room.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.engines.contract import EngineFacts, EngineKind, Finished, Provided, ProviderKind, Show
from assay.errors import EngineError, HostTimeoutError
from assay.hosts.transport import Transport
from assay.model.cluster import Cluster, NodeType
from assay.model.layout import Layout
from assay.model.plan import Configuration
from assay.model.program import Outcome, Program, Stored
from assay.model.rules import Default, Mistake, Spread
from assay.model.run import Check, Job, Phase, Task
from assay.model.trace import Trace


@dataclass(frozen=True, slots=True)
class ToyRules:
    """``toy.daemon`` needs a restart, all else goes with a job."""

    name: str = "toy"
    defaults: tuple[Default, ...] = (Default("toy.shell", "sh", "every machine has one"),)

    @property
    def words(self) -> Mapping[str, tuple[str, ...]]:
        return {}

    def parameters(self, settings: Mapping[str, str]) -> dict[str, str]:
        return dict(settings)

    def completed(self, settings: Mapping[str, str], workers: int) -> dict[str, str]:
        return {"dfs.replication": "1", **settings}

    def setting_mistake(self, name: str, value: str, cluster: Cluster) -> str | None:
        return "it is not sh" if (name, value) == ("toy.shell", "fish") else None

    def mistakes(
        self, parameters: Mapping[str, str], cluster: Cluster, workers: int, written: Collection[str] = ()
    ) -> Iterator[Mistake]:
        yield from (Mistake((name,), "none of the toy's") for name in parameters if name.startswith("toy.not."))

    def warnings(self, parameters: Mapping[str, str], cluster: Cluster) -> tuple[str, ...]:
        return ()

    def carried_by_job(self, name: str) -> bool:
        return name != "toy.daemon"

    def deployment_key(self, configuration: Configuration, cluster: Cluster) -> str:
        return json.dumps([configuration.layout.name, configuration.parameters.get("toy.daemon")])

    def file_system(self, configuration: Configuration, cluster: Cluster) -> str:
        return configuration.layout.name

    def layout_mistake(self, layout: Layout, node_type: NodeType) -> str | None:
        return None if layout.policy is None else f"layout {layout.name!r}: the toy has no policies"

    def spread(self, layout: Layout, node_type: NodeType, copies: int) -> Spread:
        return ((layout.hdfs, copies),)

    def tasks_of_a_wave(self, parameters: Mapping[str, str], kind: str, workers: int) -> int:
        return workers

    def copies(self, parameters: Mapping[str, str]) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class ToyStorage:
    """A folder; ``$STORE`` of programs."""

    root: Path

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _files(self, path: str) -> list[Path]:
        at = self._at(path)
        found = [at] if at.is_file() else sorted(file for file in at.rglob("*") if file.is_file())
        return [file for file in found if not file.name.startswith((".", "_"))]

    async def exists(self, path: str) -> bool:
        return self._at(path).exists()

    async def stored(self, path: str) -> Stored:
        sizes = [file.stat().st_size for file in self._files(path)]
        return Stored(len(sizes), sum(sizes), sum(sizes))

    async def paths(self, path: str) -> list[str]:
        return [f"/{file.relative_to(self.root)}" for file in self._files(path)]

    async def read(self, path: str) -> bytes:
        try:
            return self._at(path).read_bytes()
        except OSError as error:
            raise EngineError(str(error), where=path) from error

    async def write(self, path: str, content: bytes) -> None:
        self._at(path).parent.mkdir(parents=True, exist_ok=True)
        self._at(path).write_bytes(content)

    async def delete(self, path: str) -> None:
        shutil.rmtree(self._at(path), ignore_errors=True)
        self._at(path).unlink(missing_ok=True)

    async def placements(self, layout: Layout, paths: Sequence[str]) -> tuple[Check, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class ToyEngine:
    """Runs commands; each is one job of one task."""

    facts: EngineFacts
    storage: ToyStorage
    master: Transport

    @property
    def addresses(self) -> Mapping[str, str]:
        return {self.master.name: "127.0.0.1"}

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        return {self.master.name: [str(self.storage.root)]}

    def effective_parameters(self, parameters: Mapping[str, str]) -> dict[str, str]:
        return {"toy.shell": "sh", **parameters}

    async def run(
        self, program: Program, parameters: Mapping[str, str], *, timeout_s: float, label: str, show: Show
    ) -> Finished:
        if program.engine != self.facts.name:
            raise EngineError(f"{program.main_class} is a program of {program.engine}")
        show(f"{label}: {program.main_class}")
        started, clock = time.time(), time.monotonic()
        env = {"STORE": str(self.storage.root), **program.options}
        try:
            done = await self.master.run(
                [program.main_class, *program.arguments], timeout_s=timeout_s, check=False, env=env
            )
            status, output = done.exit_status, done.stdout + done.stderr
        except HostTimeoutError as error:
            status, output = 124, error.message.encode()
        end_s = time.monotonic() - clock
        outcome = Outcome(status, output.decode(), {}, int(status != 0), end_s, timed_out=status == 124)
        state = "succeeded" if status == 0 else "failed"
        job = Job("job_1", label, state, 0.0, 0.0, end_s, 1, 0)
        task = Task(
            "job_1", "t1", "a1", "map", self.master.name, state, 0, end_s, None, None, 0, 0, 0, 0, 0, None, None
        )
        told = {"duration_s": "wall time of the command", "phases": "the command", "tasks": "the command"}
        phases = (Phase("map", 0.0, end_s),)
        trace = Trace()
        trace.append(end_s, self.master.name, "toy", "commands", counter=True, value=1.0)
        return Finished(outcome, started, (job,), (task,), phases, trace, {f"{label}.log": output}, told)

    async def check(
        self, program: Program, parameters: Mapping[str, str], *, reads_bytes: int, timeout_s: float, show: Show
    ) -> Finished:
        return await self.run(program, parameters, timeout_s=timeout_s, label="check", show=show)

    async def trouble(self) -> str | None:
        return None if self.storage.root.is_dir() else "the store is gone"

    async def logs(self) -> dict[str, bytes]:
        return {"toy.log": b""}


class DeployedToy:
    """Makes the folder, and holds it by a file."""

    def __init__(self, cluster: Cluster, transports: Mapping[str, Transport]) -> None:
        self._home, self._master = Path(cluster.home), transports[cluster.master.name]
        self._cluster, self._key, self._held = cluster, "", False
        self._engine: ToyEngine | None = None

    @property
    def facts(self) -> EngineFacts:
        if not self._held:
            raise EngineError("the toy is not there yet")
        return EngineFacts("toy", "1")

    @property
    def engine(self) -> ToyEngine | None:
        return self._engine

    async def open(self, show: Show) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        if (self._home / "held").exists():
            raise EngineError("another assay is using the toy", where=str(self._home))
        (self._home / "held").touch()
        self._held = True

    async def provide(self, configuration: Configuration, show: Show) -> Provided:
        key = ToyRules().deployment_key(configuration, self._cluster)
        if self._engine and key == self._key and await self._engine.trouble() is None:
            return Provided(self._engine, restarted=False)
        store = self._home / "stores" / configuration.layout.name
        store.mkdir(parents=True, exist_ok=True)
        self._engine, self._key = ToyEngine(self.facts, ToyStorage(store), self._master), key
        return Provided(self._engine, restarted=True)

    async def close(self) -> None:
        if self._held:
            (self._home / "held").unlink(missing_ok=True)
        self._engine, self._held = None, False


TOY = EngineKind(ToyRules(), {ProviderKind.DEPLOYED: DeployedToy})
