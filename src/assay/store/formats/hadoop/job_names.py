"""Derive a job's workload from the job's name.

In: the name of a job or application, and for MapReduce its mapper's class. Out: the workload's name in plans if it is
one of Hadoop's own benchmarks, else the job's name. The programs of hadoop-mapreduce-examples set the job's name.
TestDFSIO sets no name, but its mapper identifies it.
"""

import re
from typing import Final

_WORKLOADS_BY_NAME: Final = {
    "terasort": "terasort",
    "teragen": "teragen",
    "teravalidate": "teravalidate",
    "word count": "wordcount",
    "wordcount": "wordcount",
    "sorter": "sort",
    "random-writer": "randomwriter",
    "random-text-writer": "randomtextwriter",
}
_MAPPERS: Final = {
    "org.apache.hadoop.fs.TestDFSIO$ReadMapper": "dfsio-read",
    "org.apache.hadoop.fs.TestDFSIO$WriteMapper": "dfsio-write",
    "org.apache.hadoop.fs.TestDFSIO$AppendMapper": "dfsio-append",
    "org.apache.hadoop.fs.TestDFSIO$RandomReadMapper": "dfsio-random-read",
    "org.apache.hadoop.fs.TestDFSIO$TruncateMapper": "dfsio-truncate",
}
WRITERS: Final = frozenset({"teragen", "randomwriter", "randomtextwriter", "dfsio-write", "dfsio-append"})
"""Workloads that only write data; they read only the list of their splits."""
UNNAMED: Final = "unnamed"
LENGTH_MAX: Final = 200
"""Maximum length of a name, in characters. Longer names, such as whole queries of Hive, are cut."""


def workload_of(job_name: str, mapper: str = "") -> str:
    """Return the workload of a job from its name, on one line; ``unnamed`` for a job without a name."""
    if workload := _MAPPERS.get(mapper):
        return workload
    name = re.sub(r"[\s\x00-\x1f\x7f]+", " ", job_name).strip()[:LENGTH_MAX].rstrip()
    return _WORKLOADS_BY_NAME.get(name.lower(), name) or UNNAMED
