"""Compute lower bounds of a workload's time on many clusters, from bytes and CPU cycles alone. Pure.

In: the clusters' resources (:class:`ClusterResources`, one array per resource) and a workload's costs. Out: the
shortest possible time of a run in seconds, if the costs are right. It assumes that every request gets the disk's full
rate, that caches hold everything that fits into memory, and that nothing waits. A cluster whose bound is too long need
not be simulated.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats, Mask
from assay.estimation.recommendation.candidates import Candidates
from assay.model import CostProfile, WorkloadProfile


@dataclass(frozen=True, slots=True)
class ClusterResources:
    """Resources of each cluster, summed over its workers."""

    workers: Floats
    cores: Floats
    """Number of cores times their relative speed."""
    memory_bytes: Floats
    link_bytes_per_s: Floats
    hdfs_read_bytes_per_s: Floats
    hdfs_write_bytes_per_s: Floats
    intermediate_read_bytes_per_s: Floats
    intermediate_write_bytes_per_s: Floats
    shared: Mask
    """Whether HDFS and intermediate data share devices."""
    hdfs_bytes: Floats
    intermediate_bytes: Floats


@dataclass(frozen=True, slots=True)
class DataVolumes:
    """Data that a workload reads, writes and stores in a cluster."""

    data_bytes: float
    iterations: int
    copies: int
    """Number of copies of the input; ``output_copies``: of the output."""
    output_copies: int
    compressed_share: float = 1.0
    """Compressed share of map output."""


def cluster_resources(candidates: Candidates) -> ClusterResources:
    """Return the clusters' resources."""
    per_machine = np.array(
        [
            (
                machine.option.cores * machine.option.cpu_speed,
                float(machine.memory_bytes),
                machine.option.networks[machine.network] / 8,
                sum(device.read_bytes_per_s for device in machine.hdfs),
                sum(device.write_bytes_per_s for device in machine.hdfs),
                sum(device.read_bytes_per_s for device in machine.intermediate),
                sum(device.write_bytes_per_s for device in machine.intermediate),
                float(sum(device.capacity_bytes for device in machine.hdfs)),
                float(sum(device.capacity_bytes for device in machine.intermediate)),
            )
            for machine in candidates.machines
        ]
    )
    shared = np.array(
        [bool(set(machine.hdfs) & set(machine.intermediate)) for machine in candidates.machines], dtype=np.bool_
    )
    workers = candidates.workers.astype(np.float64)
    columns = (per_machine[candidates.machine] * workers[:, None]).T
    cores, memory, link_bytes_per_s, read, write, spill_read, spill_write, capacity, spill_capacity = columns
    return ClusterResources(
        workers=workers,
        cores=cores,
        memory_bytes=memory,
        link_bytes_per_s=link_bytes_per_s,
        hdfs_read_bytes_per_s=read,
        hdfs_write_bytes_per_s=write,
        intermediate_read_bytes_per_s=spill_read,
        intermediate_write_bytes_per_s=spill_write,
        shared=shared[candidates.machine],
        hdfs_bytes=capacity,
        intermediate_bytes=spill_capacity,
    )


def shortest_times_s(
    resources: ClusterResources, costs: CostProfile, workload: WorkloadProfile, volumes: DataVolumes
) -> Floats:
    """Return the lower bound for each cluster, in seconds."""
    data = volumes.data_bytes
    passes = float(max(1, volumes.iterations))
    map_output_bytes = data * workload.map_output * workload.combined
    cpu_s = data * workload.map_cpu_s_per_byte.value + map_output_bytes * workload.reduce_cpu_s_per_byte.value
    compressed_bytes = volumes.compressed_share * map_output_bytes
    output_bytes = data * workload.written * volumes.output_copies
    # Data in caches need not be on a disk at the end of the run.
    flushed_bytes = np.maximum(0.0, output_bytes - resources.memory_bytes)
    spilled_bytes = np.maximum(0.0, compressed_bytes - resources.memory_bytes)
    hdfs_s = data * workload.read / resources.hdfs_read_bytes_per_s + flushed_bytes / resources.hdfs_write_bytes_per_s
    spill_s = spilled_bytes / resources.intermediate_read_bytes_per_s
    spill_s += spilled_bytes / resources.intermediate_write_bytes_per_s
    # Shared devices serve both in turn. The sums do not say which devices are shared, so only the longer time counts.
    disk_s = np.maximum(hdfs_s, spill_s)
    remote_bytes = compressed_bytes * (1 - 1 / resources.workers) + data * workload.written * max(
        0, volumes.output_copies - 1
    )
    work_s = np.maximum(np.maximum(cpu_s / resources.cores, disk_s), remote_bytes / resources.link_bytes_per_s)
    engine_costs = costs.costs
    jobs = workload.jobs * passes
    fixed_s = engine_costs.client_start_s.value + engine_costs.client_end_s.value
    fixed_s += jobs * (engine_costs.job_start_s.value + engine_costs.job_end_s.value)
    bound_s: Floats = fixed_s + passes * work_s
    return bound_s


def fits(resources: ClusterResources, stored_bytes: float, spilled_bytes: float, share: float) -> Mask:
    """Return which clusters have room for the HDFS data, all replicas included, and for the intermediate data."""
    hdfs_fits = stored_bytes + np.where(resources.shared, spilled_bytes, 0.0) <= share * resources.hdfs_bytes
    intermediate_fits = resources.shared | (spilled_bytes <= share * resources.intermediate_bytes)
    fits_both: Mask = hdfs_fits & intermediate_fits
    return fits_both
