"""Make a plan for the simulator: a separate campaign on a cluster without hosts, refused if it can't be simulated.

In: a plan, a profile of what its workloads cost. Out: the plan as it is executed, by the same loop, attempt and
record as on hosts (:mod:`assay.execution.campaign.attempts.runner`), with the provider that
:mod:`assay.estimation.simulator` gives.
"""

import hashlib
from dataclasses import replace

from assay.estimation.simulator.engine import refuse
from assay.estimation.simulator.scenario import SimulationRequest
from assay.execution.planning.forecast.forecast import Schedule
from assay.execution.planning.forecast.inputs import size_of
from assay.model import CostProfile, Plan


def simulated_plan(plan: Plan, profile: CostProfile) -> Plan:
    """Return the plan with a separate fingerprint, so that a simulation never resumes a campaign on hosts."""
    text = f"{plan.fingerprint} simulated {profile!r}"
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    return replace(plan, fingerprint=fingerprint, cluster=replace(plan.cluster, simulated=True))


def refuse_what_can_not_be(plan: Plan, profile: CostProfile, schedule: Schedule) -> None:
    """Raise SpecificationError for the first run that is left and can't be simulated."""
    for planned in {planned.key[:2]: planned for planned, _ in schedule.left}.values():
        size = size_of(planned, plan)
        configuration = replace(planned.configuration, engine=planned.configuration.engine or plan.engine)
        refuse(SimulationRequest(plan.cluster, configuration, planned.workload.name, size, profile))
