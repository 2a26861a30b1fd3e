"""Request a campaign: on the hosts of the plan, or in simulation.

In: a plan and, for a simulation, a profile of its workloads' costs. Out: a
:class:`assay.execution.campaign.execute.CampaignRequest`. A simulated campaign is executed by the same loop, attempt
and record as on hosts. Its cluster has no hosts, and plans that cannot be simulated are refused.
"""

import hashlib
from dataclasses import replace
from functools import partial

from assay.estimation.simulator.engine import check_request, shipped_simulator, simulator_of
from assay.estimation.simulator.scenario import request_of
from assay.execution.campaign.execute import CampaignRequest
from assay.execution.engines.catalogue import engine_kind
from assay.execution.planning.forecast.forecast import Schedule
from assay.model import CostProfile, Plan


def campaign_request(plan: Plan, profile: CostProfile | None = None, trace_by: str = "group") -> CampaignRequest:
    """Return the request to execute all runs of the plan on its engine, or with ``profile`` to simulate them.

    ``trace_by``: whether large simulated clusters are observed by ``group`` of nodes, or by ``node``.
    """
    if profile is None:
        return CampaignRequest(plan, engine_kind(plan.engine, shipped_simulator).provider_of(plan.cluster))
    plan = simulated_plan(plan, profile)
    return CampaignRequest(
        plan, simulator_of(plan.rules, profile, trace_by), check=partial(refuse_unsupported, profile)
    )


def simulated_plan(plan: Plan, profile: CostProfile) -> Plan:
    """Return the plan with a separate fingerprint, so that a simulation never resumes a campaign on hosts."""
    text = f"{plan.fingerprint} simulated {profile!r}"
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    return replace(plan, fingerprint=fingerprint, cluster=replace(plan.cluster, simulated=True))


def refuse_unsupported(profile: CostProfile, plan: Plan, schedule: Schedule) -> None:
    """Raise SpecificationError for the first remaining run that cannot be simulated."""
    for planned_run in {planned_run.key[:2]: planned_run for planned_run, _ in schedule.remaining}.values():
        check_request(request_of(plan, planned_run, profile))
