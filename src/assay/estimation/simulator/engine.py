"""Simulate workloads on a described cluster, with the interface of all engines.

In: a cluster's description, a profile with the costs of workloads, and a workload with its size in place of a program.
Out: a :class:`ProgramResult` with virtual times, with jobs, attempts, phases, trace and counters as from a real engine,
and with the interval that contains nine of ten measured run times. Nothing runs and nothing is written: there is no
input to generate, no output to validate, and no host.
"""
# ruff: noqa: ARG002 - the interface has parameters that a simulation does not need

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import median, stdev
from typing import TYPE_CHECKING, Any

from assay.estimation.simulator.draws import REPETITION_SIGMA, draws
from assay.estimation.simulator.error_model import Z90, sigma_of
from assay.estimation.simulator.extrapolation import extrapolation_error
from assay.estimation.simulator.process import SimulationResult, run_simulations, simulate
from assay.estimation.simulator.reduced_cluster import reduced_scenario
from assay.estimation.simulator.results import groups_of_nodes, read_result
from assay.estimation.simulator.results_stages import with_stages
from assay.estimation.simulator.scenario import Scenario, SimulationRequest, scenario_of, shares_of
from assay.execution.engines.contract import EngineFacts, MakeProvider, ProgramResult, Rules, ShowProgress
from assay.execution.engines.skeleton import LockedProvider, NoDaemons, SingleCopyStorage
from assay.foundation.errors import EngineError
from assay.model import (
    SIMULATED_HIGH_S,
    SIMULATED_LOW_S,
    Cluster,
    Configuration,
    CostProfile,
    NodeGroups,
    Origin,
    Outcome,
    Program,
)
from assay.specs.profiles import shipped_profile
from assay.workloads.workload import Size, WorkloadProgram

if TYPE_CHECKING:
    from assay.execution.hosts.transport import Transport

VERSION = "simulated"
DRAWS = 8
"""Number of draws behind an interval."""
SEED = 1
"""Seed of the draws, the same for all configurations, so that their draws are pairs."""


class InMemoryStorage(SingleCopyStorage):
    """A file system in memory, for files that assay writes; simulated programs write none."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    async def lengths(self, path: str) -> Mapping[str, int]:
        """Return the files at and below ``path``."""
        prefix = f"{path.rstrip('/')}/"
        return {name: len(content) for name, content in self._files.items() if name == path or name.startswith(prefix)}

    async def read(self, path: str) -> bytes:
        """Return a file's content."""
        if path not in self._files:
            raise EngineError("there is no such file", where=path)
        return self._files[path]

    async def write(self, path: str, content: bytes) -> None:
        """Store a file."""
        self._files[path] = content

    async def delete(self, path: str) -> None:
        """Delete a file or folder."""
        for name in await self.lengths(path):
            del self._files[name]


class SimulatedEngine(NoDaemons):
    """One configuration on a described cluster."""

    def __init__(
        self,
        facts: EngineFacts,
        storage: InMemoryStorage,
        rules: Rules,
        cluster: Cluster,
        profile: CostProfile,
        configuration: Configuration,
        trace_by: str = "group",
    ) -> None:
        self._trace_by = trace_by
        self.facts, self.storage = facts, storage
        self.rules, self._cluster, self._cost_profile = rules, cluster, profile
        self.use(configuration)
        self._distributions: dict[str, tuple[float, float]] = {}

    def use(self, configuration: Configuration) -> None:
        """Switch to ``configuration``, which may have another engine."""
        self.facts = replace(self.facts, name=configuration.engine or self.rules.name)
        self.configuration = configuration
        self._profile = self._cost_profile.of_engine(self.facts.name)

    @property
    def addresses(self) -> Mapping[str, str]:
        """Empty, because there are no hosts."""
        return {}

    async def run(
        self, program: Program, parameters: Mapping[str, str], *, timeout_s: float, label: str, show: ShowProgress
    ) -> ProgramResult:
        """Simulate a workload. ``timeout_s`` limits the computation; virtual time has no limit.

        Raises EngineError if the program is not a workload, and SpecificationError if it can't be simulated.
        """
        if not isinstance(program, WorkloadProgram):
            message = f"{program.main_class} is a program of {program.engine}, not of this engine"
            raise EngineError(message, hint="the simulator takes workloads by their names")
        show(f"{label}: simulating {program.main_class}")
        request = self.request(program.main_class, program.size)
        start_unix_s, start_monotonic_s = time.time(), time.monotonic()
        scenario = scenario_of(request)
        inputs = [scenario.with_seed(program.seed, program.main_class, "traces", self._trace_by)]
        try:
            async with asyncio.timeout(timeout_s):
                [result] = await run_simulations(inputs)
                median_s, sigma = await self._distribution(program.main_class, request, result.duration_s)
        except TimeoutError:
            message = f"the simulation did not end within {timeout_s:.0f} s"
            outcome = Outcome(124, message, {}, 0, time.monotonic() - start_monotonic_s, timed_out=True)
            return ProgramResult(
                outcome, start_unix_s, logs={f"{label}.log": message.encode()}, sources=self._sources()
            )
        complete_scenario = replace(scenario, assumptions=(*extrapolation_error(request)[1], *scenario.assumptions))
        return await asyncio.to_thread(
            self._program_result, result, complete_scenario, start_unix_s, label, (median_s, sigma)
        )

    def request(self, workload: str, size: Size) -> SimulationRequest:
        """Return the request to simulate a workload in the current configuration."""
        configuration = replace(self.configuration, engine=self.facts.name)
        return SimulationRequest(self._cluster, configuration, workload, size, self._profile)

    async def _distribution(self, name: str, request: SimulationRequest, simulated_s: float) -> tuple[float, float]:
        """Return the median simulated time over the draws, and the standard deviation of a run's log time around it.

        Draws of a large cluster simulate a smaller cluster. The first draw uses the central value of every input. The
        median of the large cluster is ``simulated_s`` times the smaller cluster's ratio of median to first draw.
        """
        configuration = request.configuration
        inputs = (
            configuration.engine,
            name,
            request.size,
            sorted(configuration.parameters.items()),
            configuration.network,
        )
        key = " ".join(map(str, inputs))
        if key not in self._distributions:
            seeds_and_scenarios = [
                (draw.seed, scenario_of(draw.of(request))) for draw in draws(self._profile, DRAWS, SEED)
            ]
            results = await run_simulations(
                [reduced_scenario(scenario).with_seed(seed, "draw") for seed, scenario in seeds_and_scenarios]
            )
            times = [result.duration_s for result in results]
            sigmas = (
                stdev(map(math.log, times)),
                sigma_of(shares_of(request, results)),
                REPETITION_SIGMA,
                extrapolation_error(request)[0],
            )
            is_full_size = reduced_scenario(seeds_and_scenarios[0][1]) is seeds_and_scenarios[0][1]
            median_s = median(times) if is_full_size else simulated_s * median(times) / times[0]
            self._distributions[key] = median_s, math.sqrt(sum(part * part for part in sigmas))
        return self._distributions[key]

    def _program_result(
        self,
        result: SimulationResult,
        scenario: Scenario,
        start_unix_s: float,
        label: str,
        distribution: tuple[float, float],
    ) -> ProgramResult:
        pool = scenario.document.cluster.cpu_pool
        simulated = read_result(result, pool.cores if pool else None)
        if self._profile.workloads[result.tree["id"]].stages:
            simulated = with_stages(simulated, result.tree, scenario.document)
        median_s, sigma = distribution
        assumptions = list(dict.fromkeys((*scenario.assumptions, *result.assumptions)))
        counters = {group: dict(counts) for job in simulated.jobs[-1:] for group, counts in job.counters.items()}
        text = "\n".join((f"{result.duration_s:.3f} s of virtual time", *assumptions))
        return ProgramResult(
            Outcome(0, text, counters, 0, result.duration_s),
            start_unix_s,
            jobs=simulated.jobs,
            tasks=simulated.tasks,
            phases=simulated.phases,
            stages=simulated.stages,
            executors=simulated.executors,
            trace=simulated.trace,
            logs={f"{label}.log": text.encode()},
            sources=self._sources(),
            metrics={
                **simulated.metrics,
                SIMULATED_LOW_S: median_s * math.exp(-Z90 * sigma),
                SIMULATED_HIGH_S: median_s * math.exp(Z90 * sigma),
            },
            environment={
                "simulation": {
                    "profile": self._profile.name,
                    "learned": self._profile.learned.source,
                    "seed": result.tree.get("seed"),
                    "fidelity": result.tree.get("fidelity"),
                    "limits": dict(result.limits),
                    "assumptions": assumptions,
                    **self._groups(result),
                }
            },
        )

    def _groups(self, result: SimulationResult) -> dict[str, Any]:
        """Return the group of workers that each worker was observed with, in the cluster's order."""
        groups = groups_of_nodes(result.tree)
        if not groups:
            return {}
        workers = self._cluster.using(self.configuration.workers).workers
        return {"node_groups": NodeGroups.tree([groups[node.name] for node in workers])}

    def _sources(self) -> dict[str, str]:
        learned = f"simulated with profile {self._profile.name}: {self._profile.learned.source}"
        interval = "simulated: an end of the 90 % interval of single runs"
        interval_sources = dict.fromkeys((SIMULATED_LOW_S, SIMULATED_HIGH_S), interval)
        return {"duration_s": learned, "phases": "simulated", "tasks": "simulated", **interval_sources}

    async def check(
        self, program: Program, parameters: Mapping[str, str], *, reads_bytes: int, timeout_s: float, show: ShowProgress
    ) -> ProgramResult:
        """Raise EngineError: nothing was written that could be checked."""
        raise EngineError("a simulated run writes nothing that could be checked", where=program.main_class)


class Simulator(LockedProvider[SimulatedEngine]):
    """The provider of the simulated engine. It locks no cluster: any number of simulations can run at once."""

    def __init__(self, rules: Rules, profile: CostProfile, cluster: Cluster, trace_by: str = "group") -> None:
        super().__init__(cluster, {})
        self._trace_by = trace_by
        self.rules, self._profile = rules, profile
        self._storages: dict[str, InMemoryStorage] = {}

    async def open(self, show: ShowProgress) -> None:
        """Set the facts of the engine; there is nothing to connect to."""
        self._facts = await self.install(show)

    async def install(self, show: ShowProgress) -> EngineFacts:
        """Return the facts of the engine; nothing is installed."""
        return EngineFacts(self.rules.name, VERSION, origin=Origin.SIMULATED)

    async def engine_for(self, configuration: Configuration) -> SimulatedEngine:
        """Return the engine, with the files that were written under this layout."""
        name = self.rules.file_system(configuration, self.cluster)
        storage = self._storages.setdefault(name, InMemoryStorage())
        settings = (self.rules, self.cluster, self._profile, configuration, self._trace_by)
        return SimulatedEngine(self.facts, storage, *settings)

    async def on_reuse(self, engine: SimulatedEngine, configuration: Configuration, show: ShowProgress) -> None:
        """Keep the engine if only parameters of jobs differ."""
        engine.use(configuration)


def simulator_of(rules: Rules, profile: CostProfile, trace_by: str = "group") -> MakeProvider:
    """Return a function that provides the simulated engine with the costs in ``profile``.

    ``trace_by``: on large clusters, ``node`` observes each node alone, ``group`` the nodes of a rack or a type
    together.
    """

    def provide(cluster: Cluster, _transports: Mapping[str, Transport]) -> Simulator:
        return Simulator(rules, profile, cluster, trace_by)

    return provide


def shipped_simulator(rules: Rules) -> MakeProvider:
    """Return the provider of an engine that is simulated with the profile that assay ships."""
    return simulator_of(rules, shipped_profile())


def check_request(request: SimulationRequest) -> None:
    """Raise SpecificationError if ``request`` can't be simulated; called before the first run of a plan."""
    simulate([reduced_scenario(scenario_of(request)).with_seed(SEED, "check")])
