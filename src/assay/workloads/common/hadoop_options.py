"""Options of the workloads' programs for Hadoop: number of tasks, storage of data, and assay's own jobs."""

from collections.abc import Mapping

from assay.model import JOBS_PACKAGE, Program
from assay.workloads.workload import Size

DEFAULT_MAPS = 6


def storage_options(size: Size) -> dict[str, str]:
    """Return the options for the storage of data; inputs with different options are different inputs."""
    block = {"dfs.blocksize": str(size.block_bytes)} if size.block_bytes else {}
    return {"dfs.replication": str(size.replication), **block}


def generator_options(size: Size) -> dict[str, str]:
    """Return the options of assay's own generators: the number of maps, and the seed."""
    return {"mapreduce.job.maps": str(size.maps or DEFAULT_MAPS), "assay.seed": str(size.seed)}


def generator(name: str, *arguments: object, size: Size) -> Program:
    """Return one of assay's own generators, with the storage options of ``size``."""
    return assay_program(name, *arguments, options={**generator_options(size), **storage_options(size)})


def reduce_options(size: Size) -> dict[str, str]:
    """Return the option with the number of reduces; {} leaves it to Hadoop, whose default is 1."""
    return {"mapreduce.job.reduces": str(size.reduces)} if size.reduces else {}


def assay_program(name: str, *arguments: object, options: Mapping[str, str]) -> Program:
    """Return one of assay's own programs."""
    return Program(f"{JOBS_PACKAGE}{name}", tuple(map(str, arguments)), options)
