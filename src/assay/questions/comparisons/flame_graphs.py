"""Answer where a run spends its time by call stack, and where two sides differ: flame graphs of each phase.

In: a repository and a run, or the profiles of two sides. Out: a :class:`FlameGraphs`. The largest phase of a run
comes first; of two sides, the phase in which they differ most.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.analysis.code_profile.difference import GB
from assay.analysis.code_profile.flame import FlameGraph, flame_graph
from assay.analysis.code_profile.stacks import Stack
from assay.questions.comparisons.code_difference import ProfiledSides
from assay.questions.runs.code_profiles.code_profile import profile_facts, require_recordings, stacks_at, stored_stacks
from assay.store import Repository

WIDTH_TEXT = "The width of a frame is its time with the methods that it calls."
DIFFERENCE_TEXT = (
    "Red: more in B. Blue: less. The width of a frame is the mean of both sides. Phases share one scale of colours."
)
_UNITS = {"alloc": "bytes", "lock": "ns"}


@dataclass(frozen=True, slots=True)
class FlameGraphs:
    """A flame graph for each phase, of one side or of two."""

    unit: str
    """``s``, ``bytes``, ``ns`` or ``samples`` for one side; ``s/GB`` of data for two."""
    sides: tuple[str, ...]
    unit_per_count: tuple[float, ...]
    """For each side the value of a count in ``unit``."""
    names: tuple[str, ...]
    """Names of the frames of all graphs."""
    graphs: tuple[FlameGraph, ...]
    start_s: float | None = None
    """Start of the chosen interval in seconds from the run's start; None for the whole run."""
    end_s: float | None = None


def flame_graphs_of_run(
    repository: Repository, prefix: str, phase: str | None = None, at_s: float | None = None
) -> FlameGraphs:
    """Return the flame graphs of the run whose id begins with ``prefix``, of the whole run or of the interval at
    ``at_s``, in seconds from the run's start.

    Raises FormatError if it has no profile, or no samples at this time.
    """
    run = repository.run(prefix)
    run_profile = profile_facts(repository, run)
    parts: dict[str, Counter[Stack]] = {}
    moment = stacks_at(repository, run, at_s) if at_s is not None else None
    for recording, part in moment.stacks if moment else require_recordings(repository, run):
        if phase in (None, part):
            stacks = (
                moment.stacks[recording, part] if moment else stored_stacks(repository, run.run_id, recording, part)[0]
            )
            parts.setdefault(part, Counter()).update(stacks)
    interval_ms = run_profile.get("interval_ms")
    unit = "s" if interval_ms else _UNITS.get(str(run_profile.get("kind")), "samples")
    graphs = _graphs(unit, (run.run_id,), (interval_ms / 1000 if interval_ms else 1.0,), (parts,))
    return replace(graphs, start_s=moment.start_s, end_s=moment.end_s) if moment else graphs


def flame_graphs_of_sides(profiles: ProfiledSides) -> FlameGraphs:
    """Return the flame graphs of both sides together, in seconds per GB."""
    sides, values = [], []
    for runs in profiles.sides:
        parts: dict[str, Counter[Stack]] = {}
        for run in runs:
            for part, recordings in run.parts.items():
                for stacks in recordings.values():
                    parts.setdefault(part, Counter()).update(stacks)
        sides.append(parts)
        values.append(profiles.interval_s * GB / sum(run.data_bytes for run in runs))
    return _graphs("s/GB", profiles.labels, tuple(values), sides)


def _graphs(
    unit: str, labels: tuple[str, ...], values: tuple[float, ...], sides: Sequence[Mapping[str, Counter[Stack]]]
) -> FlameGraphs:
    names: dict[str, int] = {}
    graphs = [
        flame_graph(phase, [side.get(phase, Counter()) for side in sides], names)
        for phase in dict.fromkeys(phase for side in sides for phase in side)
    ]

    def order(graph: FlameGraph) -> float:
        totals = [counts[0] * value for counts, value in zip(graph.counts, values, strict=True)]
        return abs(totals[-1] - totals[0]) if len(totals) > 1 else totals[0]

    graphs.sort(key=order, reverse=True)
    return FlameGraphs(unit, labels, values, tuple(names), tuple(graphs))
