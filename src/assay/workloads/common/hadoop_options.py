"""What workloads' programs for Hadoop share: how tasks are counted, how data are stored, and assay's own jobs."""

from collections.abc import Mapping

from assay.model import JOBS_PACKAGE, Program
from assay.workloads.workload import Size

DEFAULT_MAPS = 6


def storing(size: Size) -> dict[str, str]:
    """Return the options that say how data are stored; inputs that differ in them are different inputs."""
    block = {"dfs.blocksize": str(size.block_bytes)} if size.block_bytes else {}
    return {"dfs.replication": str(size.replication), **block}


def generating(size: Size) -> dict[str, str]:
    """Return the options of assay's own generators: how many maps write, and the seed."""
    return {"mapreduce.job.maps": str(size.maps or DEFAULT_MAPS), "assay.seed": str(size.seed)}


def generator(name: str, *arguments: object, size: Size) -> Program:
    """Return one of assay's own generators, whose data are stored as ``size`` says."""
    return assay_program(name, *arguments, options={**generating(size), **storing(size)})


def reducing(size: Size) -> dict[str, str]:
    """Return the option that sets the number of reduces; {} leaves it to Hadoop, whose default is 1."""
    return {"mapreduce.job.reduces": str(size.reduces)} if size.reduces else {}


def assay_program(name: str, *arguments: object, options: Mapping[str, str]) -> Program:
    """Return one of assay's own programs."""
    return Program(f"{JOBS_PACKAGE}{name}", tuple(map(str, arguments)), options)
