"""Define a minimal third engine: programs are commands on the master, storage is a folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.execution.engines.contract import EngineFacts, EngineKind, ProgramResult, ProviderKind, ShowProgress
from assay.execution.engines.skeleton import ClientEngine, DefaultRules, LockedProvider, SingleCopyStorage
from assay.foundation.errors import EngineError
from assay.model import Cluster, Configuration, Job, Phase, Program, TaskAttempt, Trace
from assay.model.plans.rules import Default, Mistake


class ToyRules(DefaultRules):
    def __init__(self) -> None:
        super().__init__(
            "toy", (Default("toy.shell", "sh", "every machine has one"),), restart_parameters=("toy.daemon",)
        )

    def setting_mistake(self, name: str, value: str, cluster: Cluster) -> str | None:
        return "it is not sh" if (name, value) == ("toy.shell", "fish") else None

    def mistakes(self, parameters: Mapping[str, str], *_: Any, **__: Any) -> Iterator[Mistake]:
        yield from (Mistake((name,), "none of the toy's") for name in parameters if name.startswith("toy.not."))


class ToyStorage(SingleCopyStorage):
    def __init__(self, root: Path) -> None:
        self.root = root

    def path_of(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    async def lengths(self, path: str) -> dict[str, int]:
        folder = self.path_of(path)
        files = [folder, *folder.rglob("*")]
        return {f"/{file.relative_to(self.root)}": file.stat().st_size for file in files if file.is_file()}

    async def read(self, path: str) -> bytes:
        try:
            return self.path_of(path).read_bytes()
        except OSError as error:
            raise EngineError(str(error), where=path) from error

    async def write(self, path: str, content: bytes) -> None:
        self.path_of(path).parent.mkdir(parents=True, exist_ok=True)
        self.path_of(path).write_bytes(content)

    async def delete(self, path: str) -> None:
        shutil.rmtree(self.path_of(path), ignore_errors=True)


class ToyEngine(ClientEngine[ToyStorage]):
    rules = ToyRules()

    @property
    def data_directories(self) -> Mapping[str, Sequence[str]]:
        return {self.master.name: [str(self.storage.root)]}

    async def run_client(
        self, program: Program, parameters: Mapping[str, str], timeout_s: float, label: str
    ) -> ProgramResult:
        command = [program.main_class, *program.arguments]
        result = await self.client(command, timeout_s, label, env={"STORE": str(self.storage.root), **program.options})
        end_s, state = result.outcome.duration_s, "failed" if result.outcome.exit_status else "succeeded"
        job, trace = Job("job_1", label, state, 0.0, 0.0, end_s, 1, 0), Trace()
        task = TaskAttempt(
            "job_1", "t1", "a1", "map", self.master.name, state, 0, end_s, None, None, 0, 0, 0, 0, 0, None, None
        )
        trace.append(end_s, self.master.name, "toy", "commands", counter=True, value=1.0)
        sources = {**result.sources, "phases": "the command", "tasks": "the command"}
        phases = (Phase("map", 0.0, end_s),)
        return replace(result, jobs=(job,), tasks=(task,), phases=phases, trace=trace, sources=sources)


class DeployedToy(LockedProvider[ToyEngine]):
    rules = ToyRules()

    async def install(self, show: ShowProgress) -> EngineFacts:
        return EngineFacts("toy", "1")

    async def engine_for(self, configuration: Configuration) -> ToyEngine:
        store = Path(self.cluster.home) / "stores" / configuration.layout.name
        store.mkdir(parents=True, exist_ok=True)
        return ToyEngine(self.facts, ToyStorage(store), self.cluster, self.transports)


TOY = EngineKind(ToyRules(), {ProviderKind.DEPLOYED: DeployedToy})
