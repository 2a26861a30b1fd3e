"""The finalists of a search, looked at closely: how their times follow from what is uncertain.

In: a search that has been made. Out: :class:`Finals`. Each finalist is simulated again with CPU, disks, links and fixed
costs dearer, one at a time, with the same chances; and request by request where the run is small enough for that to be
cheap: what that differs by corrects the flows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace as struct_replace

from assay.analysis.cost.pareto import Priced, on_front
from assay.analysis.statistics import Floats, Ints
from assay.estimation.recommendation.candidates import Machine
from assay.estimation.simulator.draws import DEVICE_SIGMA, LINK_SIGMA, cpu_sigma, spread_of
from assay.estimation.simulator.error_model import Z90
from assay.estimation.simulator.process import SimulationResult
from assay.questions.costs.mix import Work
from assay.questions.recommendation.search import Progress, Search
from assay.questions.recommendation.value_of_information import Follows, model_errors
from assay.workloads.catalogue import workloads

FRONT_MAX = 16
BEST_MAX = 8
DEARER = 1.3
"""By what factor each uncertain thing is made dearer to see what times do."""
FAR_SIGMA = 0.06
"""In the logarithm, for each doubling of data on a worker, or of workers, beyond what was learned."""
SPEED_FACTOR = 2.0
"""How far off the speed of a processor may be that nobody stated, where the profile is of other machines."""
REQUEST_BYTES = 512 * 2**10
REQUESTS_MAX = 400_000
"""Runs of so many requests are simulated one by one."""
_THINGS = {"cpu": DEARER, "disks": 1 / DEARER, "links": 1 / DEARER, "fixed": DEARER}
_TARGET_Z = 1.282


@dataclass(frozen=True, slots=True)
class Finals:
    """The finalists. Arrays are finalists × workloads."""

    rows: Ints
    times_s: Floats
    follows: tuple[Follows, ...]
    book: Priced
    limits: tuple[tuple[str, ...], ...]
    fidelities: tuple[str, ...]
    simulations: int
    assumptions: tuple[str, ...]
    extrapolation: float
    """Largest data per worker of a finalist, as a multiple of the largest that the profile was learned from."""

    def margin(self) -> float:
        """Return the factor that a time needs to be kept nine times of ten, in the middle of the finalists."""
        variance = sum(np.square(one.slopes) for one in self.follows)
        return math.exp(_TARGET_Z * math.sqrt(float(np.median(variance))))


def finals(search: Search, progress: Progress | None) -> Finals:
    """Return the finalists of a search that simulated something."""
    rows = _chosen(search)
    asked, scenarios = [], []
    for row in rows:
        for number, work in enumerate(search.works):
            for thing, factor in _THINGS.items():
                asked.append((int(row), number, thing))
                scenarios.append(search.scenario(int(row), work, {thing: factor})[1])
            if _requests(search, work) <= REQUESTS_MAX:
                asked.append((int(row), number, "requests"))
                scenarios.append(struct_replace(search.scenario(int(row), work)[1], fidelity="requests"))
    hear = (lambda done: progress("looked at closely", done, len(scenarios))) if progress else None
    told: dict[tuple[int, int, str], float] = {}
    for key, answer in zip(asked, search.pool.simulate_each(scenarios, hear), strict=True):
        if not isinstance(answer, SimulationResult):
            raise answer
        told[key] = answer.duration_s
    flows = np.array([search.simulated[int(row)].times_s for row in rows])
    times = np.array(
        [
            [told.get((int(row), number, "requests"), flows[place, number]) for number in range(len(search.works))]
            for place, row in enumerate(rows)
        ]
    )
    follows, words, extrapolation = _follows(search, rows, flows, told)
    exact = {row for row, _, thing in told if thing == "requests"}
    return Finals(
        rows=rows,
        times_s=times,
        follows=tuple(follows),
        book=search.priced(rows),
        limits=tuple(tuple(search.simulated[int(row)].limits) for row in rows),
        fidelities=tuple("requests" if int(row) in exact else "flows" for row in rows),
        simulations=len(scenarios),
        assumptions=tuple(words),
        extrapolation=extrapolation,
    )


def _requests(search: Search, work: Work) -> float:
    """Return about how many requests a run makes of disks."""
    known = search.profile.workloads[work.workload]
    each = known.read + 2 * known.map_output * known.combined + 3 * known.written
    return work.data_bytes * search.factor * each * max(1, workloads()[work.workload].flow.iterations) / REQUEST_BYTES


def _chosen(search: Search) -> Ints:
    """Return the front of what was simulated, thinned where it is long, and the best; those that could be in time."""
    rows = search.simulated_rows()
    times = np.array([search.simulated[int(row)].times_s for row in rows])
    near = search.within(times, 1.25)
    if not near.any():
        near[np.argsort(times @ search.per_day)[:BEST_MAX]] = True
    rows, times = rows[near], times[near]
    day = times @ search.per_day
    objective = search.objective(rows, day)
    front = np.flatnonzero(on_front(day, search.money(rows, day))[0])
    front = front[np.argsort(objective[front], kind="stable")]
    if len(front) > FRONT_MAX:
        front = front[np.unique(np.linspace(0, len(front) - 1, FRONT_MAX).astype(np.int64))]
    in_time = search.within(times * math.exp(_TARGET_Z * 0.2), 1.0)
    order = np.lexsort((objective, ~in_time))[:BEST_MAX]
    chosen = np.array(list(dict.fromkeys([*order.tolist(), *front.tolist()])), dtype=np.int64)
    found: Ints = rows[chosen]
    return found


def _follows(
    search: Search, rows: Ints, flows: Floats, told: dict[tuple[int, int, str], float]
) -> tuple[list[Follows], list[str], float]:
    """Return how times follow each uncertain thing, the assumptions in words, and how far data is extrapolated."""
    profile, machines = search.profile, [search.found.machines[search.found.machine[row]] for row in rows]

    def slopes(thing: str) -> Floats:
        """Return by how much the logarithm of times grows for each unit that the thing is dearer by."""
        dearer = [[told[int(row), number, thing] for number in range(len(search.works))] for row in rows]
        found: Floats = np.clip(np.log(np.array(dearer) / flows) / math.log(DEARER), 0.0, 1.1)
        return found

    sigmas, words = _cpu_sigmas(search, machines)
    disks = slopes("disks")
    hard, flash = _by_kind(search, rows, disks)
    follows = [
        Follows("cpu", slopes("cpu") * sigmas[:, None]),
        Follows("hdd", hard * DEVICE_SIGMA),
        Follows("flash", flash * DEVICE_SIGMA),
        Follows("links", slopes("links") * LINK_SIGMA),
        Follows("fixed", slopes("fixed") * spread_of(profile.costs.job_start_s)),
        *model_errors([search.simulated[int(row)].shares for row in rows]),
    ]
    far, extrapolation = _far(search, rows)
    return [*follows, Follows("size", far)], words, extrapolation


def _by_kind(search: Search, rows: Ints, disks: Floats) -> tuple[Floats, Floats]:
    """Return what times follow of disks as parts of hard disks and of flash, by their shares of the time."""
    shares = [search.simulated[int(row)].shares for row in rows]
    hard = np.array([[own.get("hdd", 0.0) for own in each] for each in shares])
    flash = np.array([[own.get("flash", 0.0) for own in each] for each in shares])
    whole = np.maximum(hard + flash, 1e-9)
    return disks * hard / whole, disks * flash / whole


def _cpu_sigmas(search: Search, machines: Sequence[Machine]) -> tuple[Floats, list[str]]:
    """Return how unsure CPU times are, by finalist: what was learned, and how fast the processors are beside that."""
    learned, words = cpu_sigma(search.profile), []
    found = []
    for machine in machines:
        option = machine.option
        spread = math.log(option.cpu_speed_high / option.cpu_speed_low) / (2 * Z90)
        if spread == 0 and search.profile.learned.lab_scale is not None:
            spread = math.log(SPEED_FACTOR) / Z90
            words.append(
                f"how fast {option.name}'s processor is beside the profile's is not told (cpu: {{speed, low, high}}): "
                f"{option.cpu_speed:g} is taken, within a factor of {SPEED_FACTOR:g}"
            )
        found.append(math.hypot(learned, spread))
    return np.array(found), list(dict.fromkeys(words))


def _far(search: Search, rows: Ints) -> tuple[Floats, float]:
    """Return the uncertainty of times beyond the learned data per worker and number of workers, and how far data is
    extrapolated.
    """
    profile = search.profile
    learned, scale = profile.learned, profile.learned.lab_scale or 1.0
    workers = search.found.workers[rows].astype(np.float64)
    beyond = np.log2(np.maximum(1.0, workers / max(1, learned.workers_max)))
    found, furthest = [], 1.0
    for work in search.works:
        own = profile.workloads[work.workload]
        most = own.data_bytes_max / scale / max(1, learned.workers_max)
        times = np.maximum(1.0, work.data_bytes * search.factor / workers / max(1.0, most))
        found.append(FAR_SIGMA * (np.log2(times) + beyond))
        furthest = max(furthest, float(times.max()))
    return np.stack(found, axis=1), furthest
