"""Examine the finalists of a search: measure how sensitive their times are to each uncertain input.

In: a completed search. Out: :class:`Finalists`. Each finalist is simulated again with higher costs of CPU, disks, links
and jobs, one at a time, with the same random numbers. Runs with few requests are also simulated request by request, and
that time replaces the time of the flow simulation.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace as struct_replace

from assay.analysis.cost.pareto import PricedRates, on_front
from assay.analysis.statistics import Floats, Ints
from assay.estimation.recommendation.candidates import Machine
from assay.estimation.simulator.draws import DEVICE_SIGMA, LINK_SIGMA, cpu_sigma, log_sigma
from assay.estimation.simulator.error_model import Z90
from assay.estimation.simulator.process import SimulationResult
from assay.foundation.progress import Progress
from assay.model.clusters.credits import CreditUse
from assay.questions.costs.mix import Work
from assay.questions.recommendation.search import ClusterSearch, SearchStage
from assay.questions.recommendation.value_of_information import Sensitivity, model_errors
from assay.workloads.catalogue import workloads

FRONT_MAX = 16
"""Maximum number of finalists from the Pareto front."""
BEST_MAX = 8
"""Maximum number of finalists by the objective."""
COST_FACTOR = 1.3
"""Factor on each cost in the simulations that measure sensitivity."""
FAR_SIGMA = 0.06
"""Standard deviation of log time for each doubling of data per worker, or of workers, beyond the learned range."""
SPEED_FACTOR = 2.0
"""Half-width of the 90 % interval of an unstated processor speed, as a factor, for a profile of other machines."""
REQUEST_BYTES = 512 * 2**10
"""Assumed mean size of a disk request, in bytes."""
REQUESTS_MAX = 400_000
"""Maximum number of requests of a run that is simulated request by request."""
_NEAR_FACTOR = 1.25
"""Maximum time of a finalist, as a multiple of the time limits: times are uncertain."""
_SCALED_COSTS = {"cpu": COST_FACTOR, "disks": 1 / COST_FACTOR, "links": 1 / COST_FACTOR, "fixed": COST_FACTOR}
"""Factor on each cost, or on the rate of the resource, by scaled cost."""
_TARGET_Z = 1.282
"""Standard normal quantile of 90 %."""
_TYPICAL_SIGMA = 0.2
"""Assumed standard deviation of log time where finalists are chosen; their own is not known yet."""
Times = Mapping[tuple[int, int, str], float]
"""Simulated times by row, number of the workload, and scaled cost (or ``requests``)."""


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """How far the data per worker exceeds the learned data per worker, for the workload where it exceeds it most."""

    multiple: float = 1.0
    """Largest data per worker of a finalist, as a multiple of the largest that the profile was learned from."""
    workload: str = ""
    learned_bytes: float = 0.0
    """Largest data per worker that the profile was learned from."""


@dataclass(frozen=True, slots=True)
class Finalists:
    """The finalists. Arrays are finalists × workloads."""

    rows: Ints
    times_s: Floats
    sensitivities: tuple[Sensitivity, ...]
    prices: PricedRates
    bottlenecks: tuple[tuple[str, ...], ...]
    credits: tuple[tuple[tuple[CreditUse, ...], ...], ...]
    """Use of the credits of rented machines."""
    fidelities: tuple[str, ...]
    simulations: int
    assumptions: tuple[str, ...]
    extrapolation: Extrapolation

    def margin(self) -> float:
        """Return the 90 % quantile of run times / the expected time, for the median finalist."""
        variance = sum(np.square(sensitivity.slopes) for sensitivity in self.sensitivities)
        return math.exp(_TARGET_Z * math.sqrt(float(np.median(variance))))


def examine_finalists(search: ClusterSearch, progress: Progress | None) -> Finalists:
    """Return the finalists of a search that simulated at least one cluster."""
    rows = _chosen_rows(search)
    keys, scenarios, documents = [], [], []
    for row in rows.tolist():
        for number, work in enumerate(search.works):
            for name, factor in _SCALED_COSTS.items():
                keys.append((row, number, name))
                _, scenario, document = search.scenario(row, work, {name: factor})
                scenarios.append(scenario)
                documents.append(document)
            if _requests(search, work) <= REQUESTS_MAX:
                keys.append((row, number, "requests"))
                _, scenario, document = search.scenario(row, work)
                scenarios.append(scenario)
                documents.append(struct_replace(document, fidelity="requests"))
    report = (lambda done: progress("finalists simulated", done, len(documents))) if progress else None
    scaled_s: dict[tuple[int, int, str], float] = {}
    for key, scenario, result in zip(keys, scenarios, search.pool.simulate_each(documents, report), strict=True):
        if not isinstance(result, SimulationResult):
            raise result
        scaled_s[key] = scenario.limited(result).duration_s
    flows_s = search.store.times_s(rows)
    times_s = flows_s.copy()
    for position, row in enumerate(rows.tolist()):
        for number in range(len(search.works)):
            times_s[position, number] = scaled_s.get((row, number, "requests"), flows_s[position, number])
    sensitivities, assumptions, extrapolation = _sensitivities(search, rows, flows_s, scaled_s)
    exact_rows = {row for row, _, name in scaled_s if name == "requests"}
    return Finalists(
        rows=rows,
        times_s=times_s,
        sensitivities=tuple(sensitivities),
        prices=search.priced(rows),
        bottlenecks=tuple(tuple(job.bottleneck for job in search.store.jobs[row]) for row in rows.tolist()),
        credits=tuple(tuple(job.credits for job in search.store.jobs[row]) for row in rows.tolist()),
        fidelities=tuple("requests" if row in exact_rows else "flows" for row in rows.tolist()),
        simulations=len(documents),
        assumptions=tuple(assumptions),
        extrapolation=extrapolation,
    )


def last_stages(search: ClusterSearch, simulations_max: int, finalists: Finalists) -> list[SearchStage]:
    """Return the stages after the bounds, with the number of clusters that were simulated and examined."""
    text = "simulated as flows: the best of each kind of storage, the predicted Pareto front, and similar clusters"
    if len(search.store) >= simulations_max:
        text += f"; the maximum of {simulations_max} was reached, so a better cluster may not be simulated"
    exact_count = sum(fidelity == "requests" for fidelity in finalists.fidelities)
    examined_text = f"examined with {finalists.simulations} more simulations, {exact_count} of them request by request"
    return [SearchStage("flows", len(search.store), text), SearchStage("finals", len(finalists.rows), examined_text)]


def _requests(search: ClusterSearch, work: Work) -> float:
    """Return the approximate number of disk requests of a run."""
    costs = search.profile.workloads[work.workload]
    bytes_per_byte = costs.read + 2 * costs.map_output * costs.combined + 3 * costs.written
    iterations = max(1, workloads()[work.workload].flow.iterations)
    return work.data_bytes * search.data_factor * bytes_per_byte * iterations / REQUEST_BYTES


def _chosen_rows(search: ClusterSearch) -> Ints:
    """Return the best simulated clusters, then the Pareto front (thinned if long), of those that may be in time."""
    rows = search.store.rows()
    times_s = search.store.times_s(rows)
    may_be_in_time = search.in_time(times_s, _NEAR_FACTOR)
    if not may_be_in_time.any():
        may_be_in_time[np.argsort(times_s @ search.per_day)[:BEST_MAX]] = True
    rows, times_s = rows[may_be_in_time], times_s[may_be_in_time]
    day_s = times_s @ search.per_day
    objective = search.objective_of(rows, day_s)
    front_positions = np.flatnonzero(on_front(day_s, search.money(rows, day_s))[0])
    front_positions = front_positions[np.argsort(objective[front_positions], kind="stable")]
    if len(front_positions) > FRONT_MAX:
        front_positions = front_positions[
            np.unique(np.linspace(0, len(front_positions) - 1, FRONT_MAX).astype(np.int64))
        ]
    in_time = search.in_time(times_s * math.exp(_TARGET_Z * _TYPICAL_SIGMA), 1.0)
    best_positions = np.lexsort((objective, ~in_time))[:BEST_MAX]
    chosen_rows: Ints = rows[
        np.array(list(dict.fromkeys([*best_positions.tolist(), *front_positions.tolist()])), dtype=np.int64)
    ]
    return chosen_rows


def _sensitivities(
    search: ClusterSearch, rows: Ints, flows_s: Floats, scaled_s: Times
) -> tuple[list[Sensitivity], list[str], Extrapolation]:
    """Return the sensitivity to each uncertain input, the assumptions, and the extrapolation of the data per worker."""

    def slopes(name: str) -> Floats:
        """Return the change of log time for a unit change of one cost's logarithm."""
        costly_s = np.array([[scaled_s[row, number, name] for number in range(len(search.works))] for row in rows])
        ratios: Floats = np.clip(np.log(costly_s / flows_s) / math.log(COST_FACTOR), 0.0, 1.1)
        return ratios

    profile, shares = search.profile, search.store.shares(rows)
    machines = [search.candidates.machines[search.candidates.machine[row]] for row in rows]
    cpu_sigmas, assumptions = _cpu_sigmas(search, machines)
    hdd_shares, flash_shares = (
        np.array([[job_shares.get(kind, 0.0) for job_shares in row_shares] for row_shares in shares])
        for kind in ("hdd", "flash")
    )
    per_disk_share = slopes("disks") / np.maximum(hdd_shares + flash_shares, 1e-9)
    size_sigmas, extrapolation = _extrapolation_sigma(search, rows)
    sensitivities = [
        Sensitivity("cpu", slopes("cpu") * cpu_sigmas[:, None]),
        Sensitivity("hdd", per_disk_share * hdd_shares * DEVICE_SIGMA),
        Sensitivity("flash", per_disk_share * flash_shares * DEVICE_SIGMA),
        Sensitivity("links", slopes("links") * LINK_SIGMA),
        Sensitivity("fixed", slopes("fixed") * log_sigma(profile.costs.job_start_s)),
        *model_errors(shares),
        Sensitivity("size", size_sigmas),
    ]
    return sensitivities, assumptions, extrapolation


def _cpu_sigmas(search: ClusterSearch, machines: Sequence[Machine]) -> tuple[Floats, list[str]]:
    """Return the standard deviation of log CPU time by finalist: of the learned costs and the processor's speed."""
    learned_sigma, assumptions = cpu_sigma(search.profile), []
    sigmas = []
    for machine in machines:
        option = machine.option
        speed_sigma = math.log(option.cpu_speed_high / option.cpu_speed_low) / (2 * Z90)
        if speed_sigma == 0 and search.profile.learned.lab_scale is not None:
            speed_sigma = math.log(SPEED_FACTOR) / Z90
            assumptions.append(
                f"the speed of {option.name}'s processor relative to the profile's is not stated "
                f"(cpu: {{speed, low, high}}): {option.cpu_speed:g} is assumed, within a factor of {SPEED_FACTOR:g}"
            )
        sigmas.append(math.hypot(learned_sigma, speed_sigma))
    return np.array(sigmas), list(dict.fromkeys(assumptions))


def _extrapolation_sigma(search: ClusterSearch, rows: Ints) -> tuple[Floats, Extrapolation]:
    """Return the standard deviation of log time beyond the learned data per worker and number of workers, and the
    extrapolation of the data per worker.
    """
    learned = search.profile.learned
    scale, workers_max = learned.lab_scale or 1.0, max(1, learned.workers_max)
    workers = search.candidates.workers[rows].astype(np.float64)
    doublings = np.log2(np.maximum(1.0, workers / workers_max))
    sigmas, furthest = [], Extrapolation()
    for work in search.works:
        learned_bytes = max(1.0, search.profile.workloads[work.workload].data_bytes_max / scale / workers_max)
        multiples = np.maximum(1.0, work.data_bytes * search.data_factor / workers / learned_bytes)
        sigmas.append(FAR_SIGMA * (np.log2(multiples) + doublings))
        if (multiple := float(multiples.max())) > furthest.multiple:
            furthest = Extrapolation(multiple, work.workload, learned_bytes)
    return np.stack(sigmas, axis=1), furthest
