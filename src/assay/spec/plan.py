"""Plan files to plans: the cluster is loaded, layouts are resolved against its workers, factors are checked."""

from __future__ import annotations

import math
import os
from pathlib import Path

from assay.errors import SpecificationError
from assay.model.cluster import Cluster
from assay.model.layout import Layout
from assay.model.plan import LAYOUT_FACTOR, RETRIES, Factor, Plan, Until, WorkloadSpec
from assay.model.run import FailureClass
from assay.spec.cluster import load_cluster
from assay.spec.document import Location, Problems, read_document
from assay.spec.engine_parameters import engine_parameters
from assay.spec.expansion import expand
from assay.spec.fields import unknown
from assay.spec.fingerprint import fingerprint
from assay.spec.layouts import fitting_codes, is_layout_code, resolve_layout
from assay.spec.plan_file import ENGINES, PlanFile, plan_file
from assay.spec.section import parse
from assay.spec.settings import WORDS, check_configurations, check_settings, places
from assay.spec.workloads import varied_options, workload_of, workload_option
from assay.workloads.catalogue import workloads as declared

CONFIGURATIONS_MAX = 10_000


def load_plan(path: str | Path) -> Plan:
    """Return the plan at ``path`` with its cluster; raise :class:`SpecificationError` naming file and line."""
    document = read_document(path)
    file = parse(plan_file(ENGINES), document)
    problems = Problems(document)
    cluster, cluster_source = _load_cluster(file, Path(path).parent, problems)
    workloads = _workloads(file, len(cluster.workers), problems)
    factors = _factors(file, workloads, problems)
    layouts = _layouts(file, cluster, problems)
    parameters = engine_parameters(file.parameters, factors, cluster, problems)
    check_settings(file.parameters, factors, cluster, problems)
    until = _until(file, problems)
    retries, attempts = _retries(file)
    problems.raise_if_any()
    plan = Plan(
        name=file.plan,
        cluster=cluster,
        engine=file.engine,
        workloads=workloads,
        factors=factors,
        layouts=layouts,
        parameters=parameters,
        repetitions=file.repetitions,
        until=until,
        seed=file.seed,
        timeout_s=file.timeout,
        attempts=attempts,
        source=document.text,
        fingerprint=fingerprint(
            cluster, file.engine, layouts, workloads, factors, parameters, file.repetitions, file.seed
        ),
        retries=retries,
        cluster_file=file.cluster,
        cluster_source=cluster_source,
    )
    check_configurations(expand(plan), places(plan.parameters, factors), cluster, problems)
    problems.raise_if_any()
    return plan


def _until(file: PlanFile, problems: Problems) -> Until | None:
    if file.until is None:
        return None
    if file.until.at_most < file.repetitions:
        message = f"at_most is {file.until.at_most}, less than the {file.repetitions} repetitions"
        problems.add(("until", "at_most"), message)
    if file.until.half_width <= 0:
        problems.add(("until", "half_width"), "half_width must be above 0 %: no mean is known exactly")
    return Until(float(file.until.half_width), file.until.at_most)


def _retries(file: PlanFile) -> tuple[dict[FailureClass, int], int]:
    """Return the retries of each class and the attempts in all: ``attempts`` alone holds for every class."""
    otherwise = RETRIES if file.attempts is None else dict.fromkeys(FailureClass, file.attempts - 1)
    given = {name: getattr(file.retries, name.value) for name in FailureClass}
    retries = {name: otherwise[name] if value is None else value for name, value in given.items()}
    return retries, 1 + sum(retries.values()) if file.attempts is None else file.attempts


def _load_cluster(file: PlanFile, folder: Path, problems: Problems) -> tuple[Cluster, str]:
    """Return the cluster and its file's text."""
    path = folder / os.path.expanduser(file.cluster)  # noqa: PTH111 - Path's own raises for unknown users
    try:
        return load_cluster(path), read_document(path).text
    except SpecificationError as error:
        if error.where != str(path):  # something in the cluster file; otherwise the path is wrong, and this file is
            raise
        problems.add(("cluster",), f"cluster: {path}: {error.message}")
        problems.raise_if_any()
        raise


def _workloads(file: PlanFile, workers: int, problems: Problems) -> tuple[WorkloadSpec, ...]:
    workloads = tuple(workload_of(entry, workers) for entry in file.workloads)
    seen: set[str] = set()
    for index, workload in enumerate(workloads):
        if workload.key in seen:
            problems.add(("workloads", index), f"workload {workload.key!r} is given twice; tell them apart by a label")
        elif workload.label in declared() and workload.label != workload.name:
            problems.add(("workloads", index), f"label {workload.label!r} is the name of another workload")
        seen.add(workload.key)
        for option in declared()[workload.name].waved if "waves" in workload.parameters else ():
            if option in workload.parameters or f"{workload.key}.{option}" in file.factors:
                problems.add(("workloads", index), f"waves sets {workload.key}'s {option}; write one of the two")
    return workloads


def _factors(file: PlanFile, workloads: tuple[WorkloadSpec, ...], problems: Problems) -> tuple[Factor, ...]:
    """Return the factors; a plan that does not vary the layout gets it as its first factor, with one level."""
    factors = tuple(
        Factor(name, tuple(levels), levels if isinstance(levels, dict) else {}) for name, levels in file.factors.items()
    )
    for factor in factors:
        _check_levels(factor, workloads, problems)
    if file.layout is not None and LAYOUT_FACTOR not in file.factors:
        factors = (Factor(LAYOUT_FACTOR, (file.layout,)), *factors)
    configurations = math.prod(len(factor.levels) for factor in factors)
    if configurations > CONFIGURATIONS_MAX:
        message = (
            f"the levels combine to {configurations:,} configurations; at most {CONFIGURATIONS_MAX:,} are possible"
        )
        problems.add(("factors",), message)
    return factors


def _check_levels(factor: Factor, workloads: tuple[WorkloadSpec, ...], problems: Problems) -> None:
    at: Location = ("factors", factor.name)
    for index, level in enumerate(factor.levels):
        if level in factor.levels[:index]:
            problems.add((*at, index), f"{factor.name}: level {level!r} is given twice")
    if factor.settings:
        if "." in factor.name or factor.name == LAYOUT_FACTOR:
            problems.add(at, f"{factor.name}: levels that set several things need a name of your own, without a dot")
        return
    if "." not in factor.name and factor.name not in (LAYOUT_FACTOR, *WORDS):
        problems.add(
            at,
            f"{unknown('factor', factor.name, (LAYOUT_FACTOR, *WORDS))}, an engine parameter such as "
            "dfs.blocksize, WORKLOAD.option such as terasort.reduces, or a name of your own with levels "
            "that set several of these",
        )
    key, _, option = factor.name.partition(".")
    varied = workload_option(factor.name, workloads)
    if varied is not None:
        form = varied_options(varied[0].name)[varied[1]]
        for index, level in enumerate(factor.levels):
            try:
                form.parse(level)
            except ValueError as error:
                problems.add((*at, index), f"{factor.name}: {error}")
    elif key in (workload.key for workload in workloads) and key in declared():
        problems.add(at, unknown(f"option of {key}", option, varied_options(key)))
    elif key in declared():
        problems.add(at, f"the plan has no workload {key!r}; it has {', '.join(w.key for w in workloads)}")


def _layouts(file: PlanFile, cluster: Cluster, problems: Problems) -> dict[str, Layout]:
    """Return the layouts that the plan's runs use; check also those that it only defines."""
    node_type = cluster.workers[0].type
    own: dict[str, Layout] = {}
    for name, section in file.layouts.items():
        if is_layout_code(name):
            problems.add(("layouts", name), f"{name!r} is a layout code; choose another name")
        try:
            parts = section.model_dump(exclude={"policy"})
            own[name] = resolve_layout(parts, node_type, name=name, policy=section.policy)
        except SpecificationError as error:
            problems.add(("layouts", name), error.message)
    used: dict[str, Layout] = {}
    choices = [*file.layouts, *fitting_codes(node_type)]
    for name, at in _layout_names(file, choices, problems).items():
        if name in file.layouts:
            used |= {name: own[name]} if name in own else {}
        elif is_layout_code(name):
            try:
                used[name] = resolve_layout(name, node_type)
            except SpecificationError as error:
                problems.add(at, error.message)
        else:
            problems.add(at, unknown("layout", name, choices))
    return used


def _layout_names(file: PlanFile, choices: list[str], problems: Problems) -> dict[str, Location]:
    """Return the names of the layouts that the plan uses, with their places."""
    levels = list(file.factors.get(LAYOUT_FACTOR, []))
    names: dict[str, Location] = {level: ("factors", LAYOUT_FACTOR, index) for index, level in enumerate(levels)}
    if file.layout is not None:
        if levels:
            problems.add((LAYOUT_FACTOR,), "layout is a factor of this plan; remove this key or the factor")
        names[file.layout] = (LAYOUT_FACTOR,)
    if not names:
        problems.add((), f"the plan needs a layout: as a factor, or 'layout: NAME'; valid: {', '.join(choices)}")
    return names
