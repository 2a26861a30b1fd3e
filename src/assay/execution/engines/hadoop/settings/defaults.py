"""Define the Hadoop properties that assay sets by default, each with the reason for not keeping Hadoop's default."""

from assay.execution.engines.hadoop.settings import containers
from assay.model import Default

_REASONS: tuple[tuple[str, dict[str, str]], ...] = (
    (
        "the NameNode must not skip busy DataNodes, or blocks stay under-replicated on a small cluster",
        {"dfs.namenode.redundancy.considerLoad": "false"},
    ),
    (
        "hosts are named by the cluster file; their addresses need no reverse DNS",
        {"dfs.namenode.datanode.registration.ip-hostname-check": "false"},
    ),
    (
        "leave safe mode as soon as every block is reported, and delete blocks at once: restarts are faster",
        {
            "dfs.namenode.safemode.extension": "0",
            "dfs.namenode.startup.delay.block.deletion.sec": "0",
            "dfs.namenode.redundancy.interval.seconds": "1s",
            "dfs.heartbeat.interval": "1",
        },
    ),
    ("HDFS has a single user and no other users' data", {"dfs.permissions.enabled": "false"}),
    ("a scaled disk is small, so all of its free space is for blocks", {"dfs.datanode.du.reserved": "0"}),
    (
        "a dead daemon must be detected during a run; Hadoop's default takes 10 minutes",
        {"dfs.namenode.heartbeat.recheck-interval": "2000", "yarn.nm.liveness-monitor.expiry-interval-ms": "15000"},
    ),
    (
        "daemons of a cluster start together: retry connections after 0.3 and 0.5 s instead of 1 and 30 s",
        {"yarn.resourcemanager.connect.retry-interval.ms": "500", "ipc.client.connect.retry.interval": "300"},
    ),
    (
        "jobs are small: with the defaults of 1 and 5 s they would mostly wait for the next poll",
        {
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
            "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "200",
            "mapreduce.client.completion.pollinterval": "200",
            "mapreduce.client.progressmonitor.pollinterval": "200",
        },
    ),
    ("reduces fetch map output from the NodeManagers", {"yarn.nodemanager.aux-services": "mapreduce_shuffle"}),
    (
        "a task is not killed because its JVM slightly exceeds its container's memory",
        {"yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.pmem-check-enabled": "false"},
    ),
    (
        "a scaled disk stays usable when it is nearly full",
        {"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99"},
    ),
    (
        "files of a finished job are deleted at once, before the next run",
        {"yarn.nodemanager.delete.debug-delay-sec": "0"},
    ),
    ("sizes for a lab's nodes; a plan for other hosts should set its own", containers.DEFAULTS),
    (
        "one queue has the whole cluster; on a small cluster ApplicationMasters need up to half of it",
        {
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
        },
    ),
    ("jobs run on the cluster, not in their clients", {"mapreduce.framework.name": "yarn"}),
    (
        "JSON lines instead of Avro binary: readable in the bundle without tools",
        {"mapreduce.jobhistory.jhist.format": "json"},
    ),
    (
        "all files of assay in HDFS are below /assay",
        {
            "mapreduce.jobhistory.intermediate-done-dir": "/assay/history/intermediate",
            "mapreduce.jobhistory.done-dir": "/assay/history/done",
            "yarn.app.mapreduce.am.staging-dir": "/assay/staging",
        },
    ),
)
DEFAULTS = tuple(Default(name, value, why) for why, values in _REASONS for name, value in values.items())
"""Defaults for properties that the plan does not set, each with its reason."""

BY_DEFAULT = {default.name: default.value for default in DEFAULTS}

TASK_MEMORY = (containers.MAP_MEMORY, containers.REDUCE_MEMORY)
"""The parameters that set the memory of a task's container."""
STOCK_MEMORY = {
    **dict.fromkeys((*TASK_MEMORY, "yarn.app.mapreduce.am.resource.mb"), "1024"),
    "mapreduce.task.io.sort.mb": "100",
}
"""Hadoop's own values (mapred-default.xml) in MiB, for real clusters."""
