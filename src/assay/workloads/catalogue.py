"""Every workload by the name that plans use."""

from __future__ import annotations

from assay.workloads.base import Workload
from assay.workloads.dfsio import DfsioRead, DfsioWrite
from assay.workloads.dfsioe import DfsioeRead, DfsioeWrite
from assay.workloads.kmeans import KMeans
from assay.workloads.pagerank import PageRank
from assay.workloads.randomtext import RandomTextWriter, Sort
from assay.workloads.shuffle import Shuffle
from assay.workloads.sql import SQL_AGGREGATION, SQL_JOIN
from assay.workloads.tera import HdfsWrite, TeraGen, TeraRead, TeraSort, TeraValidate
from assay.workloads.wordcount import WordCount

_ALL: tuple[Workload, ...] = (
    DfsioWrite(),
    DfsioRead(),
    TeraGen(),
    TeraSort(),
    TeraValidate(),
    WordCount(),
    TeraRead(),
    Shuffle(),
    HdfsWrite(),
    RandomTextWriter(),
    Sort(),
    DfsioeWrite(),
    DfsioeRead(),
    PageRank(),
    KMeans(),
    SQL_AGGREGATION,
    SQL_JOIN,
)
WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in _ALL}
