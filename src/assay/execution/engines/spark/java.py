"""Check that the hosts' Java can run a Spark, before anything is started. Spark itself would end in a stack trace.

In: the output of ``java -version``. Out: nothing, or an EngineError that names host, Java and the required version.
"""

import asyncio
import re
from collections.abc import Mapping

from assay.execution.engines.spark.distribution import SparkDistribution
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import EngineError

_TIMEOUT_S = 60.0
"""Maximum time of ``java -version`` on a host, in seconds."""
_MINIMUM_VERSIONS = (((4, 1), (17, 0, 11)), ((4, 0), (17, 0, 0)), ((3, 0), (8, 0, 0)))
"""Pairs of a Spark version and the minimum Java version from this Spark on; newest first. Source: Spark's
documentation."""
_VERSION = re.compile(r'version "(?:1\.)?(\d+)(?:\.(\d+))?(?:\.(\d+))?')


def minimum_java(spark_version: str) -> tuple[int, int, int]:
    """Return the oldest Java that this Spark supports."""
    parts = [int(part) for part in re.findall(r"\d+", spark_version)[:2]]
    return next((java for spark, java in _MINIMUM_VERSIONS if tuple(parts) >= spark), (8, 0, 0))


def version_of(output: str) -> tuple[int, int, int]:
    """Return the version in the output of ``java -version``; zeros if there is none."""
    match = _VERSION.search(output)
    major, minor, patch = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    return major, minor, patch


async def require_java(transports: Mapping[str, Transport], java: str, spark: SparkDistribution) -> None:
    """Raise EngineError if a host's Java is too old for ``spark``."""
    minimum_version = minimum_java(spark.version)
    answers = await asyncio.gather(
        *(host.run([java, "-version"], timeout_s=_TIMEOUT_S, check=False) for host in transports.values())
    )
    for transport, answer in zip(transports.values(), answers, strict=True):
        java_version = version_of(answer.stderr.decode(errors="replace"))
        if java_version < minimum_version:
            present_text, minimum_text = (".".join(map(str, version)) for version in (java_version, minimum_version))
            raise EngineError(
                f"Java {present_text} is too old for Spark {spark.version}, which needs {minimum_text} or newer",
                where=f"{transport.name}: {java}",
                hint="set java_home in the cluster file, or SPARK_HOME to an older Spark",
            )
