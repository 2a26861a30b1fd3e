"""Write a table of runs on rented clusters, drawn from a known formula, with a price list.

In: a seed and a folder. Out: ``runs.csv`` and ``prices.csv`` for ``cloud_choice.py``. Four jobs run on 4 to 24
instances of three families in three sizes. A time is a serial part, work shared by all vCPUs and traffic shared by all
networks, and 0.8 s per instance. Too little memory slows down the two shared parts. The time is multiplied by an offset
of the family (standard deviation 10 %), of the job on the family (6 %) and by scatter (4 %).

Run it with ``python benchmarks/cloud_world.py SEED FOLDER``.
"""

import sys
from pathlib import Path

import numpy as np

from assay.specs.instances import shipped_instances

VCPU_PRICES = {"c4": 0.0498, "m4": 0.05, "r4": 0.0665, "c5": 0.0425, "m5": 0.048, "r5": 0.063}
"""On-demand price of one vCPU by family, in USD per hour (us-east-1, rounded)."""
SIZES = ("large", "xlarge", "2xlarge")
COUNTS = (4, 8, 16, 24)
DATA_GB = 20


def main(seed: int, folder: Path) -> None:
    """Write the two tables."""
    random = np.random.default_rng(seed)
    families = [str(family) for family in random.permutation(list(VCPU_PRICES))[:3]]
    instances = shipped_instances()
    types = [instances[f"{family}.{size}"] for family in families for size in SIZES]
    # The last of three draws counts: one draw would change the worlds of the published figures.
    family_ratio = {family: np.exp(random.normal(0, 0.1)) for family in families for _ in SIZES}
    lines = ["job,instance_type,node_count,input_size_gb,runtime_s"]
    for job in range(4):
        cpu_s, traffic_s, serial_s = (
            np.exp(random.normal(*parameters)) for parameters in ((7.5, 0.7), (6.5, 0.8), (3.5, 0.5))
        )
        memory_per_data = np.exp(random.normal(0.3, 0.7))
        job_ratio = {family: np.exp(random.normal(0, 0.06)) for family in families}
        for instance_type in types:
            network_gbit_per_s = (instance_type.network_bits_per_s or 0.0) / 1e9
            for count in COUNTS:
                memory_ratio = DATA_GB * memory_per_data / (count * instance_type.memory_bytes / 2**30 * 0.5)
                slowdown = 1 + 0.8 * max(0, min(1.5, memory_ratio - 1))
                shared_s = cpu_s / (count * instance_type.vcpus) * 8 + traffic_s / (count * network_gbit_per_s**0.7)
                time_s = (serial_s + shared_s * slowdown + 0.8 * count) * family_ratio[instance_type.family]
                time_s *= job_ratio[instance_type.family] * np.exp(random.normal(0, 0.04))
                lines.append(f"job{job},{instance_type.name},{count},{DATA_GB},{round(float(time_s), 1)}")
    prices = [
        f"{instance_type.name},{VCPU_PRICES[instance_type.family] * instance_type.vcpus:.4f}" for instance_type in types
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "runs.csv").write_text("\n".join(lines) + "\n")
    (folder / "prices.csv").write_text("\n".join(["instance_type,price_per_hour", *prices]) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
