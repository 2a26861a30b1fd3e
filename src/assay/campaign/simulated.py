"""Runs of a plan in virtual time: what the simulator says takes the place of hosts, and is published like any run.

In: a plan, a profile of what its workloads cost. Out: runs with origin ``simulated``, with jobs, attempts, phases,
trace and counters, and with the interval in which a measured run's time would lie nine times of ten. They need neither
root nor Java nor a host. Nothing is written to any file system, so there is no output to be checked.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median, stdev

from assay import __version__
from assay.campaign.loop import Loop, Watcher, Work
from assay.campaign.prepare import Prepared
from assay.campaign.recording import cluster_facts
from assay.campaign.runner import Summary
from assay.campaign.setting import Around, Published
from assay.engines.simulated.draws import SCATTER_SIGMA, draws
from assay.engines.simulated.error_model import Z90, sigma_of
from assay.engines.simulated.process import Simulated, simulate
from assay.engines.simulated.results import told
from assay.engines.simulated.scenario import Asked, scenario_of, shares_of
from assay.explain.run_detail import detail_metrics, run_detail
from assay.model.baseline import Baseline
from assay.model.fitness import Fitness
from assay.model.plan import Plan
from assay.model.run import Origin, Run, RunStatus
from assay.model.workload_profile import CostProfile
from assay.observe.traces import device_totals
from assay.planning.forecast import renewed
from assay.planning.inputs import size_of
from assay.planning.order import PlannedRun
from assay.repository import Repository
from assay.repository.ids import new_run_id
from assay.workloads.catalogue import workloads

DRAWS = 8
ENGINE_VERSION = "simulated"
_SOURCE = "simulated"


def simulated_plan(plan: Plan, profile: CostProfile) -> Plan:
    """Return the plan with a fingerprint of its own, so that no campaign on hosts is gone on with by simulation."""
    text = f"{plan.fingerprint} simulated {profile!r}"
    return replace(plan, fingerprint=hashlib.sha256(text.encode()).hexdigest())


@dataclass(slots=True)
class _Simulation:
    """Makes runs by simulation: one for each planned run, its repetition's chances among the drawn ones."""

    plan: Plan
    profile: CostProfile
    campaign_id: str
    baseline: Baseline | None = None
    fitness: Fitness | None = None
    _spreads: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    async def make(self, planned: PlannedRun, number: int, around: Around) -> Published:
        """Simulate one run. Raises SpecificationError for what can't be simulated."""
        del around
        return await asyncio.to_thread(self._make, planned, number)

    async def mend(self) -> None:
        """Do nothing: no host can be lost."""

    def _make(self, planned: PlannedRun, number: int) -> Published:
        asked = self._asked(planned)
        scenario = scenario_of(asked)
        seed = self.plan.seed * 1000 + planned.repetition
        [result] = simulate([scenario.with_seed(seed, planned.title, "traces")])
        middle_s, sigma = self._spread(planned, asked)
        run = self._run(planned, number, result, (*scenario.assumptions, *result.assumptions))
        pool = scenario.tree["cluster"].get("cpu_pool")
        found = told(result, pool["cores"] if pool else None)
        run = replace(run, jobs=found.jobs, phases=found.phases)
        detail = detail_metrics(run_detail(run, found.tasks, found.trace))
        metrics = {
            **detail,
            **device_totals(found.trace, 0.0, run.duration_s),
            "duration_low_s": middle_s * math.exp(-Z90 * sigma),
            "duration_high_s": middle_s * math.exp(Z90 * sigma),
        }
        if run.duration_s > 0 and run.data_bytes:
            metrics["job_throughput_mb_per_s"] = run.data_bytes / run.duration_s / 1e6
        return Published(replace(run, metrics=metrics), found.tasks, found.trace)

    def _asked(self, planned: PlannedRun) -> Asked:
        size = size_of(planned, self.plan)
        return Asked(self.plan.cluster, planned.configuration, planned.workload.name, size, self.profile)

    def _spread(self, planned: PlannedRun, asked: Asked) -> tuple[float, float]:
        """Return the middle of the times that draws give, and the spread of a run's logarithm about it."""
        key = planned.key[:2]
        if key not in self._spreads:
            made = [
                scenario_of(draw.of(asked)).with_seed(draw.seed, "draw")
                for draw in draws(self.profile, DRAWS, self.plan.seed)
            ]
            found = simulate(made)
            times = [one.duration_s for one in found]
            parts = (stdev(map(math.log, times)), sigma_of(shares_of(asked, found)), SCATTER_SIGMA)
            self._spreads[key] = median(times), math.sqrt(sum(part * part for part in parts))
        return self._spreads[key]

    def _run(self, planned: PlannedRun, number: int, result: Simulated, assumptions: tuple[str, ...]) -> Run:
        plan, configuration = self.plan, planned.configuration
        cluster = plan.cluster.using(configuration.workers)
        size = size_of(planned, plan)
        network = {"name": configuration.network} if configuration.network else {}
        return Run(
            run_id=new_run_id(),
            campaign_id=self.campaign_id,
            plan=plan.name,
            origin=Origin.SIMULATED,
            status=RunStatus.VALID,
            cause=None,
            cluster=cluster.name,
            lab_scale=cluster.lab.scale if cluster.lab else None,
            engine=self.profile.engine,
            engine_version=ENGINE_VERSION,
            workload=planned.workload.key,
            workload_parameters={"program": planned.workload.name, **planned.workload.parameters},
            layout=configuration.layout.name,
            levels=dict(configuration.levels),
            parameters=dict(configuration.parameters),
            repetition=planned.repetition,
            block=planned.block,
            position=planned.index,
            attempt=number,
            started_at=datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds"),
            duration_s=round(result.duration_s, 3),
            cold=True,
            data_bytes=workloads()[planned.workload.name].data_bytes(size),
            environment={
                "assay": {"version": __version__},
                "engine": {"name": self.profile.engine, "version": ENGINE_VERSION},
                "cluster": cluster_facts(cluster, configuration.layout).tree(),
                "parameters": dict(configuration.parameters),
                **({"network": network} if network else {}),
                "simulation": {
                    "profile": self.profile.name,
                    "learned": self.profile.learned.source,
                    "seed": result.tree.get("seed"),
                    "fidelity": result.tree.get("fidelity"),
                    "limits": dict(result.limits),
                    "assumptions": list(dict.fromkeys(assumptions)),
                },
            },
            sources={
                "duration_s": f"{_SOURCE} with profile {self.profile.name}: {self.profile.learned.source}",
                "duration_low_s": f"{_SOURCE}: with duration_high_s, nine of ten run times",
                "phases": _SOURCE,
                "tasks": _SOURCE,
            },
        )


async def carry_out_simulated(
    plan: Plan, profile: CostProfile, repository: Repository, todo: Prepared, watcher: Watcher
) -> Summary:
    """Simulate every run that is left of the plan, and publish each.

    Raises SpecificationError where one can't be simulated.
    """
    with todo.journal.hold():
        todo = renewed(plan, todo, repository.runs(environment=False))
        hands = _Simulation(plan, profile, todo.journal.campaign_id)
        made = await Loop(Work(plan, repository, todo, watcher), hands).run()
    return Summary(
        todo.journal.campaign_id,
        len(todo.runs),
        made.statuses.total(),
        todo.done,
        dict(made.statuses),
        dict(made.failures),
        made.stopped,
    )
