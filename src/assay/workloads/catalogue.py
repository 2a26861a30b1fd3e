"""Every workload by the name that plans use."""

from __future__ import annotations

from assay.workloads.base import Workload
from assay.workloads.dfsio import DfsioRead, DfsioWrite
from assay.workloads.tera import TeraGen, TeraSort, TeraValidate
from assay.workloads.wordcount import WordCount

_ALL: tuple[Workload, ...] = (DfsioWrite(), DfsioRead(), TeraGen(), TeraSort(), TeraValidate(), WordCount())
WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in _ALL}
