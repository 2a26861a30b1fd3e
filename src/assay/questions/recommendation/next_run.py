"""Name the commands that make a rough estimate a forecast, and write the plan of the run that they start.

In: a recommendation, and the words and options of its command. Out: commands that run as they are printed, in order;
and the plan of a run with enough data per worker, in bytes at full scale.
"""

from collections.abc import Sequence
from dataclasses import replace

from assay.analysis.statistics import RUNS_MIN
from assay.execution.planning.forecast import device_space
from assay.execution.planning.plan_files.changed_plan import changed_plan, only_run
from assay.execution.planning.plan_files.plan_reader import plan_of_content
from assay.execution.planning.plan_files.plan_text import content_of
from assay.foundation.errors import SpecificationError
from assay.model import Plan
from assay.questions.commands import DEFAULT_REPOSITORY, CommandOptions, command
from assay.questions.forecasts.learning import ProfileOrigin
from assay.questions.recommendation.recommend import Recommendation
from assay.questions.runs.plans import newest_plan
from assay.store import Repository

DESCRIBE_HOSTS = "assay discover HOST… -o cluster.yaml"
"""The command that writes the cluster file of hosts."""


def next_commands(answer: Recommendation, words: Sequence[str], options: CommandOptions) -> tuple[str, ...]:
    """Return the commands that write the plan of the missing run, run it, and recommend again.

    Empty for a forecast. Without runs of a repository, no plan can be written: the first command describes the hosts.
    """
    if answer.chosen is None or not answer.extrapolated:
        return ()
    repository = options.repository or DEFAULT_REPOSITORY  # recommend learns from no repository unless it is named
    recommend_again = command("recommend", *words, "--repository", repository, options=options)
    if answer.profile_origin is not ProfileOrigin.RUNS:
        return (DESCRIBE_HOSTS, command("run", "PLAN.yaml", options=options), recommend_again)
    file = f"{answer.extrapolated_workload}.yaml"
    return (
        command("recommend", *words, "--plan", file, "--repository", repository, options=options),
        command("run", file, options=options),
        recommend_again,
    )


def plan_of_next_run(repository: Repository, answer: Recommendation, cluster_file: str) -> Plan:
    """Return the plan of the run that makes the estimate a forecast, on the cluster of the newest plan.

    ``cluster_file``: the name that the plan states. Raises SpecificationError if the answer needs no run, if the
    repository has no plan of the workload, and if the data does not fit on the cluster.
    """
    if answer.chosen is None or not answer.extrapolated:
        raise SpecificationError("--plan needs a rough estimate", hint="this answer needs no further run")
    base_plan = replace(newest_plan(repository, None), cluster_file=cluster_file)
    data_bytes = round(answer.needed_bytes_per_worker * len(base_plan.cluster.workers))
    plan = changed_plan(base_plan, {}, answer.extrapolated_workload, [("data", f"{data_bytes}B")])
    if refusal := device_space.refusal(plan, [only_run(plan)]):
        raise SpecificationError(refusal, where="--plan", hint=device_space.remedy(plan.cluster))
    timeout_s = None if base_plan.timeout_s is None else base_plan.timeout_s * answer.extrapolation
    name = f"{answer.extrapolated_workload}-for-a-forecast"
    content = content_of(replace(plan, name=name, repetitions=RUNS_MIN, timeout_s=timeout_s))
    return plan_of_content(
        content,
        base_plan.cluster,
        base_plan.cluster_source,
        {base_plan.engine: base_plan.rules, **base_plan.varied_engines},
    )
