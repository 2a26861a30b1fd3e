"""Compute the settings of a Spark program from the plan, assay's defaults and the cluster. Pure.

In: the deployment of Hadoop, the plan's parameters. Out: settings (``spark.…``) and Java options as text. Memory is in
MiB, as in YARN. An executor's container holds its heap and the memory overhead.
"""

import math
import re
from collections.abc import Mapping
from fractions import Fraction

from assay.execution.engines.hadoop.settings.configuration import Deployment, normalised
from assay.foundation.errors import SpecificationError
from assay.foundation.units import MIB
from assay.model import SHUFFLE_CODEC, Default
from assay.model.plans.engine_values import SPARK_DURATION, SPARK_SIZE, engine_amount

PREFIX = "spark."
CODEC = SHUFFLE_CODEC
MASTER = "spark.master"
YARN, STANDALONE = "yarn", "standalone"
EXECUTORS = "spark.executor.instances"
CORES = "spark.executor.cores"
MEMORY = "spark.executor.memory"
OVERHEAD = "spark.executor.memoryOverhead"
MASTER_MEMORY = "spark.yarn.am.memory"
MASTER_OVERHEAD = "spark.yarn.am.memoryOverhead"
DRIVER_MEMORY = "spark.driver.memory"
QUEUE, TAGS, STAGING = "spark.yarn.queue", "spark.yarn.tags", "spark.yarn.stagingDir"
DEPLOY_MODE = "spark.submit.deployMode"
EVENTS = "spark.eventLog.dir"
DYNAMIC = "spark.dynamicAllocation.enabled"
REGISTERED = "spark.scheduler.minRegisteredResourcesRatio"
LEAST_EXECUTORS, FIRST_EXECUTORS, MOST_EXECUTORS = (
    f"spark.dynamicAllocation.{name}Executors" for name in ("min", "initial", "max")
)
SPILL_COMPRESS = "spark.shuffle.spill.compress"
HEAP_MIN_MB = 471_859_200 / 2**20
"""Minimum heap that Spark accepts, in MiB: 1.5 times the 300 MiB that it reserves for itself (UnifiedMemoryManager)."""
LOCALITY_WAIT = "spark.locality.wait"
# Options that Spark's start scripts give every JVM on Java 17 and newer (JavaModuleOptions); executors get them too.
_JAVA_PACKAGES = ("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util", "util.concurrent")
_INTERNAL_PACKAGES = (
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _JAVA_PACKAGES),
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _INTERNAL_PACKAGES),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
)

_REASONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("executors run in YARN containers, as Hadoop's tasks do", {MASTER: YARN}),
    (
        "sizes for a lab's nodes; a plan for other hosts should set its own",
        {
            CORES: "2",
            MEMORY: "640m",
            OVERHEAD: "128m",
            MASTER_MEMORY: "192m",
            MASTER_OVERHEAD: "128m",
            DRIVER_MEMORY: "512m",
        },
    ),
    ("the same executors from a run's start to its end, so that runs can be compared", {DYNAMIC: "false"}),
    (
        "a program starts when all its executors are registered, or after this time",
        {REGISTERED: "1.0", "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s"},
    ),
    ("jobs, stages and tasks are read from a program's event log", {"spark.eventLog.enabled": "true"}),
    ("the driver's pages are not used during a measurement", {"spark.ui.enabled": "false"}),
    ("a program's output is its log", {"spark.ui.showConsoleProgress": "false"}),
    (
        "the ApplicationMaster requests executors at the same interval as Hadoop's",
        {
            "spark.yarn.scheduler.heartbeat.interval-ms": "200",
            "spark.yarn.scheduler.initial-allocation.interval": "50ms",
        },
    ),
    ("all files of assay in HDFS are below /assay", {STAGING: "/assay/staging"}),
    ("Spark's own files need one copy only", {"spark.yarn.submit.file.replication": "1"}),
    ("clients poll YARN at the same interval as Hadoop's clients", {"spark.yarn.report.interval": "200ms"}),
)
DEFAULTS = tuple(Default(name, value, why) for why, values in _REASONS for name, value in values.items())
"""Defaults for settings that the plan does not set, each with its reason."""
BY_DEFAULT = {default.name: default.value for default in DEFAULTS}


LOG_FILE = "spark-log4j2.properties"
LOG_SETTINGS = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1}: %m%n%ex
"""
"""Log configuration of drivers and Spark's daemons: warnings and errors, with stack traces."""


def of_spark(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's parameters."""
    return {name: value for name, value in parameters.items() if name.startswith(PREFIX)}


def of_hadoop(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters that are not Spark's."""
    return {name: value for name, value in parameters.items() if not name.startswith(PREFIX)}


def on_yarn(parameters: Mapping[str, str]) -> bool:
    """Return whether YARN runs the executors; otherwise Spark's master does."""
    return parameters.get(MASTER, YARN) != STANDALONE


def memory_mb(text: str) -> float | None:
    """Return the whole MiB of a memory setting as Spark reads it (``640m``, ``2g``; a bare number is MiB, and a part
    of a MiB is dropped); None if the text is not a size.
    """
    try:
        return float(engine_amount(text, SPARK_SIZE, MIB) // MIB)
    except ValueError:
        return None


def locality_wait_s(parameters: Mapping[str, str]) -> float:
    """Return how long a task waits for a slot near its data, in seconds. Raises SpecificationError for an invalid
    duration."""
    try:
        return engine_amount(parameters.get(LOCALITY_WAIT, "3s"), SPARK_DURATION, Fraction(1, 1000))
    except ValueError as error:
        raise SpecificationError(f"{LOCALITY_WAIT}: {error}") from error


def setting_value(parameters: Mapping[str, str], name: str) -> str:
    """Return the value of setting ``name``: the plan's, else assay's default."""
    return parameters.get(name, BY_DEFAULT.get(name, ""))


def count_value(parameters: Mapping[str, str], name: str) -> int:
    """Return the value of a count; 0 if it is not a number."""
    text = setting_value(parameters, name)
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text.strip()) else 0


def container_mb(parameters: Mapping[str, str], memory_name: str, overhead_name: str) -> int:
    """Return the size of a container with this heap and overhead; 0 if one of them is not a size."""
    sizes_mb = [memory_mb(setting_value(parameters, name)) for name in (memory_name, overhead_name)]
    return 0 if None in sizes_mb else math.ceil(sum(part or 0 for part in sizes_mb))


def is_dynamic(parameters: Mapping[str, str]) -> bool:
    """Return whether dynamic allocation is on."""
    return setting_value(parameters, DYNAMIC) == "true"


def executors(parameters: Mapping[str, str], workers: int) -> int:
    """Return the number of executors, with dynamic allocation the maximum. Default: one on each worker."""
    count_setting = MOST_EXECUTORS if is_dynamic(parameters) else EXECUTORS
    return count_value(parameters, count_setting) if count_setting in parameters else workers


def program_settings(deployment: Deployment, parameters: Mapping[str, str], spark: Mapping[str, str]) -> dict[str, str]:
    """Return every setting of a program on ``deployment``: assay's, the plan's, and those that the cluster fixes.

    ``spark``: settings that depend on Spark's location (class path, master). Hadoop's job parameters become
    ``spark.hadoop.…``.
    """
    cluster, spark_settings = deployment.cluster, of_spark(parameters)
    master = deployment.host(cluster.master)
    marker = f"-Dassay.deployment={deployment.marker}"
    executor_options = " ".join(
        part
        for part in (spark_settings.get("spark.executor.extraJavaOptions", deployment.task_java_options), marker)
        if part
    )
    cluster_settings = {
        MOST_EXECUTORS if is_dynamic(spark_settings) else EXECUTORS: str(
            executors(spark_settings, len(cluster.workers))
        ),
        "spark.driver.host": master,
        "spark.driver.bindAddress": master,
        "spark.local.dir": f"{deployment.scratch}/spark",
        EVENTS: f"file://{event_directory(deployment)}",
        "spark.executor.extraJavaOptions": executor_options,
        "spark.yarn.am.extraJavaOptions": f"{deployment.task_java_options} {marker}".strip(),
        **spark,
    }
    if not on_yarn(spark_settings):  # a standalone master limits the total of cores, not the number of executors
        cluster_settings["spark.cores.max"] = str(
            executors(spark_settings, len(cluster.workers)) * max(1, count_value(spark_settings, CORES))
        )
    if cluster.java_home:
        home = cluster.java_home
        cluster_settings |= {"spark.executorEnv.JAVA_HOME": home, "spark.yarn.appMasterEnv.JAVA_HOME": home}
    hdfs_parameters = {name: value for name, value in of_hadoop(parameters).items() if name.startswith("dfs.")}
    hadoop_settings = {f"spark.hadoop.{name}": value for name, value in normalised(hdfs_parameters).items()}
    # With dynamic allocation, executors start only after the program's start, so it must not wait for all of them.
    registration = {REGISTERED: "0.0"} if is_dynamic(spark_settings) else {}
    return {**BY_DEFAULT, **registration, **hadoop_settings, **spark_settings, **cluster_settings}


def event_directory(deployment: Deployment) -> str:
    """Return the folder on the master for a program's event log; it is on no measured disk."""
    return f"{deployment.directory}/spark-events"


def driver_java_options(deployment: Deployment, parameters: Mapping[str, str]) -> list[str]:
    """Return the options of the driver's JVM, except :data:`MODULE_OPTIONS`."""
    heap_mb = memory_mb(setting_value(parameters, DRIVER_MEMORY)) or 0
    options = [f"-Xmx{max(1, math.ceil(heap_mb))}m", *deployment.task_java_options.split()]
    options += [f"-Dassay.deployment={deployment.marker}", f"-Djava.io.tmpdir={deployment.java_scratch}"]
    return [*options, "-XX:-UsePerfData"]
