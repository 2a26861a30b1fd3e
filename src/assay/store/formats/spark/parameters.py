"""Select the properties of a Spark application that affect its speed.

In: ``Spark Properties`` of an event log: the properties that were set, without Spark's defaults. Out: properties of
executors, memory, shuffle, serialisation, compression, scheduling and SQL execution. Hadoop's properties, which Spark
calls ``spark.hadoop.…``, are selected as in ``configuration.py`` and have Hadoop's names. Sizes such as ``2G`` are
written ``2g``. Of ``spark.master`` only the kind is imported. Paths, hosts, ports, and values that Spark redacted are
left out, and so are all JVM options except ``-X…``.
"""

import re
from collections.abc import Mapping
from typing import Final

from assay.store.formats.hadoop.configuration import Property, jvm_options, parameters

_NAMES: Final = re.compile(
    r"""spark\.(
      executor\.(instances | cores | memory | memoryOverhead(Factor)? | pyspark\.memory | extraJavaOptions
                 | heartbeatInterval)
    | driver\.(memory | cores | memoryOverhead(Factor)? | maxResultSize | extraJavaOptions)
    | yarn\.(executor|driver)\.memoryOverhead
    | submit\.deployMode | cores\.max | task\.cpus | task\.maxFailures | default\.parallelism | scheduler\.mode
    | (dynamicAllocation | memory | shuffle | reducer | broadcast | speculation | io | storage | rdd
       | locality | kryoserializer | sql\.(adaptive | shuffle | parquet | orc | inMemoryColumnarStorage | codegen
       | join | broadcastTimeout | autoBroadcastJoinThreshold | cbo))(\.[\w.-]+)?
    | sql\.files\.(maxPartitionBytes | openCostInBytes | minPartitionNum | maxPartitionNum)
    | files\.maxPartitionBytes | serializer | python\.worker\.(memory | reuse)
    )""",
    re.VERBOSE,
)
_PRIVATE: Final = re.compile(
    r"(^|[.])(host|port|dir|dirs|path|uri|url|address|server|user|name|id)\b|secret|passw|token|credential"
    r"|key(tab|store|s?$)|crypto|auth|redact",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(r"[\w.+,% -]{1,200}")
_LOCAL: Final = re.compile(r"local(\[[\d*, ]+\])?")
_SIZE: Final = re.compile(r"([0-9.]+)([kmgtp])b?", re.IGNORECASE)
_HADOOP: Final = "spark.hadoop."
_MASTERS: Final = {"yarn": "yarn", "local": "local", "spark": "standalone", "k8s": "kubernetes", "mesos": "mesos"}


def spark_parameters(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that affect speed, sorted by name; see the module's docstring for the rule."""
    values = {}
    for name, value in properties.items():
        if name == "spark.master":
            kind = _MASTERS.get(re.split(r"[-\[:]", value.strip(), maxsplit=1)[0])
            values[name] = value.strip() if _LOCAL.fullmatch(value.strip()) else kind
        elif _NAMES.fullmatch(name) and not _PRIVATE.search(name):
            values[name] = jvm_options(value) if name.endswith("JavaOptions") else _value(value.strip())
    hadoop_properties = (
        Property(name.removeprefix(_HADOOP), value, ())
        for name, value in properties.items()
        if name.startswith(_HADOOP)
    )
    return dict(
        sorted({**{name: value for name, value in values.items() if value}, **parameters(hadoop_properties)}.items())
    )


def _value(value: str) -> str | None:
    if size := _SIZE.fullmatch(value):
        return size[1] + size[2].lower()
    return value if _PLAIN.fullmatch(value) else None
