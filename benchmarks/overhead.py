"""Measure assay's overhead: its time per run outside the job, and the share of a core that its sampler uses.

On a new lab, the same TestDFSIO read alternates between an attempt of a campaign and a direct call: the same
Java command through the same SSH connection. The output has assay's time per run on an unchanged layout (everything but
the job), the ratio of the job's wall time with and without assay, and the samplers' CPU time.

Run as root: ``.venv/bin/python benchmarks/overhead.py [pairs]``. It takes about 1 min, and 45 s for each pair.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from assay.execution.campaign.attempts.attempt import attempt
from assay.execution.campaign.attempts.run_context import RunContext
from assay.execution.campaign.attempts.runner import connect
from assay.execution.campaign.attempts.sampling import sampler_options
from assay.execution.campaign.cluster_hosts import hosts_for
from assay.execution.engines.catalogue import engine_kind
from assay.execution.hosts import Transport
from assay.execution.observation.sampling import Sampler, SamplerOptions
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.order import schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model.plans.plan import Plan
from assay.model.runs.environment import Environment
from assay.store import Repository
from assay.workloads.catalogue import workloads

EXAMPLE = Path(__file__).parents[1] / "examples" / "lab" / "hdd-vs-ssd.yaml"
SAMPLED_S = 30.0


async def overhead(plan: Plan, run_context: RunContext, pairs: int) -> None:
    """Print assay's time per run, and the time of the job with and without assay."""
    reads = [run for run in schedule(plan, expand(plan)) if run.workload.name == "dfsio-read"]
    planned_run = next(run for run in reads if run.configuration.layout.name == "SS2")
    program = workloads()["dfsio-read"].programs(size_of(planned_run, plan), None)["hadoop"]
    await attempt(planned_run, 1, run_context)  # deploys, makes the input, warms the daemons up
    with_assay_s: list[float] = []
    bare_s: list[float] = []
    overheads: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository.create(Path(folder) / "repository")
        for _ in range(pairs):
            completed_run = await attempt(planned_run, 1, run_context)
            began = time.monotonic()
            repository.publish(
                completed_run.run, tasks=completed_run.tasks, trace=completed_run.trace, logs=completed_run.logs
            )
            overheads.append(completed_run.run.metrics["assay_own_s"] + time.monotonic() - began)
            with_assay_s.append(completed_run.run.duration_s)
            Path("/proc/sys/vm/drop_caches").write_text("3")
            parameters = planned_run.configuration.parameters
            engine = run_context.provider.engine
            assert engine is not None
            bare_result = await engine.run(program, parameters, timeout_s=600, label="bare", show=lambda _: None)
            bare_s.append(bare_result.outcome.duration_s)
    print(
        f"assay's own time per run: median {statistics.median(overheads):.2f} s, "
        f"maximum {max(overheads):.2f} s (n = {pairs})"
    )
    ratio = statistics.median(a / b for a, b in zip(with_assay_s, bare_s, strict=True))
    print(
        f"job inside assay {statistics.median(with_assay_s):.1f} s, bare {statistics.median(bare_s):.1f} s, "
        f"median ratio {ratio:.3f} (n = {pairs} pairs)"
    )


async def sampler_share(transports: dict[str, Transport], options: dict[str, SamplerOptions]) -> None:
    """Print the share of one core that the samplers of all nodes use, by the CPU time of their processes."""
    samplers = {name: await Sampler.start(transports[name], options[name]) for name in transports}
    script = 'cat "/proc/$1/stat"; getconf CLK_TCK'

    async def cpu_s(name: str) -> float:
        pid = samplers[name]._process.pid
        answer = await transports[name].run(["sh", "-c", script, "sh", str(pid)], timeout_s=10)
        fields = answer.stdout.decode().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / int(fields[-1])

    before_s = {name: await cpu_s(name) for name in samplers}
    await asyncio.sleep(SAMPLED_S)
    shares = [(await cpu_s(name) - before_s[name]) / SAMPLED_S for name in samplers]
    for sampler in samplers.values():
        await sampler.stop()
    print(
        f"sampler at 1 Hz: {statistics.fmean(shares):.2%} of a core per node, maximum {max(shares):.2%} "
        f"(n = {len(shares)} nodes, {SAMPLED_S:.0f} s)"
    )


async def measure(plan: Plan, pairs: int) -> None:
    """Make the lab, measure, and remove it."""
    with hosts_for(replace(plan.cluster, name="own-time"), print) as (cluster, lab):
        async with AsyncExitStack() as stack:
            transports = await connect(cluster, stack)
            groups = lab.control_groups if lab else {}
            nodes = [node for node in cluster.nodes if node.name in transports]
            options = {node.name: sampler_options(node, groups.get(node.name)) for node in nodes}
            provider = engine_kind(plan.engine).provider_of(cluster)(cluster, transports)
            await provider.open(lambda _: None)
            stack.push_async_callback(provider.close)
            empty_environment = Environment({})
            run_context = RunContext(
                plan, cluster, transports, provider, options, "benchmark", empty_environment, None, lambda _: None
            )
            await overhead(plan, run_context, pairs)
            await sampler_share(transports, options)


if __name__ == "__main__":
    asyncio.run(measure(load_plan(EXAMPLE), int(sys.argv[1]) if len(sys.argv) > 1 else 5))
