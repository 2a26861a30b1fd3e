"""Define the Hadoop properties that assay sets by default, with the reason why Hadoop's default is not kept."""

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
        "leave safe mode as soon as every block is reported, and act on deletions at once: restarts cost less",
        {
            "dfs.namenode.safemode.extension": "0",
            "dfs.namenode.startup.delay.block.deletion.sec": "0",
            "dfs.namenode.redundancy.interval.seconds": "1s",
            "dfs.heartbeat.interval": "1",
        },
    ),
    ("one user measures, and HDFS holds no data of other users", {"dfs.permissions.enabled": "false"}),
    ("a scaled disk is small, and what is free of it is for blocks", {"dfs.datanode.du.reserved": "0"}),
    (
        "a daemon that died must be noticed during a run; it takes 10 minutes otherwise",
        {"dfs.namenode.heartbeat.recheck-interval": "2000", "yarn.nm.liveness-monitor.expiry-interval-ms": "15000"},
    ),
    (
        "daemons of one cluster start together: ask again soon instead of after 30 s",
        {"yarn.resourcemanager.connect.retry-interval.ms": "500", "ipc.client.connect.retry.interval": "300"},
    ),
    (
        "polling shrinks with the jobs: at the default of 1 s a small job mostly waits",
        {
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
            "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "200",
            "mapreduce.client.completion.pollinterval": "200",
            "mapreduce.client.progressmonitor.pollinterval": "200",
        },
    ),
    ("reduces fetch map output from the NodeManagers", {"yarn.nodemanager.aux-services": "mapreduce_shuffle"}),
    (
        "a container's memory is planned, not policed: a JVM that passes it by little is no reason to kill a task",
        {"yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.pmem-check-enabled": "false"},
    ),
    (
        "a nearly full scaled disk is still a disk",
        {"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99"},
    ),
    ("what a job left on disks goes at once, before the next run", {"yarn.nodemanager.delete.debug-delay-sec": "0"}),
    ("sizes that fit a lab's nodes; a plan for other hosts states its own", containers.DEFAULTS),
    (
        "one queue has all of the cluster, and its ApplicationMasters up to half of a small one",
        {
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
        },
    ),
    ("jobs run on the cluster, not in their clients", {"mapreduce.framework.name": "yarn"}),
    (
        "JSON lines instead of Avro binary: readable in the bundle by people too",
        {"mapreduce.jobhistory.jhist.format": "json"},
    ),
    (
        "everything that assay keeps in HDFS is below /assay",
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
"""Hadoop's own values (mapred-default.xml), for clusters whose nodes are not a lab's."""
