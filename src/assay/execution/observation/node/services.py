"""Print services of this machine that affect a measurement: Hadoop, Spark, Javas, agents, timers.

In: nothing; argv[1] is ignored. Out: a JSON object; times in seconds. Daemons are identified by their command lines in
/proc, their configuration by the directories of their class paths, their state by their JMX and REST APIs
(hadoop.apache.org: "ResourceManager REST API's", "Metrics"). A normal login suffices.
"""

import glob
import json
import os
import pwd
import re
import shutil
import subprocess
import urllib.request
import xml.etree.ElementTree as ElementTree
from typing import Any, Dict, List, Optional

from assay.execution.observation.node.files import text_of

HTTP_TIMEOUT_S = 4
"""Maximum wait for a daemon's web server, in seconds."""
JAVA_TIMEOUT_S = 10
"""Maximum time of ``java -version``, in seconds."""
ROLES = {
    "org.apache.hadoop.hdfs.server.namenode.NameNode": "namenode",
    "org.apache.hadoop.hdfs.server.datanode.DataNode": "datanode",
    "org.apache.hadoop.hdfs.server.namenode.SecondaryNameNode": "secondarynamenode",
    "org.apache.hadoop.hdfs.qjournal.server.JournalNode": "journalnode",
    "org.apache.hadoop.hdfs.tools.DFSZKFailoverController": "zkfc",
    "org.apache.hadoop.hdfs.server.federation.router.DFSRouter": "router",
    "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager": "resourcemanager",
    "org.apache.hadoop.yarn.server.nodemanager.NodeManager": "nodemanager",
    "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer": "historyserver",
    "org.apache.hadoop.ozone.om.OzoneManagerStarter": "ozone",
    "org.apache.hadoop.hdds.scm.server.StorageContainerManagerStarter": "ozone",
    "org.apache.spark.deploy.master.Master": "spark-master",
    "org.apache.spark.deploy.worker.Worker": "spark-worker",
    "org.apache.spark.deploy.history.HistoryServer": "spark-history",
}
"""Main class of a daemon to its role."""
WEB = {
    "namenode": ("dfs.namenode.http-address", 9870, "/jmx?qry=Hadoop:service=NameNode,name=*"),
    "datanode": ("dfs.datanode.http.address", 9864, "/jmx?qry=Hadoop:service=DataNode,name=DataNodeInfo"),
    "resourcemanager": ("yarn.resourcemanager.webapp.address", 8088, "/ws/v1/cluster/info"),
    "nodemanager": ("yarn.nodemanager.webapp.address", 8042, "/ws/v1/node/info"),
    "historyserver": ("mapreduce.jobhistory.webapp.address", 19888, "/ws/v1/history/info"),
}
"""Role to the property with its HTTP address, the default port of Hadoop 3, and the path of its description."""
SETTINGS = (
    "fs.defaultFS",
    "dfs.datanode.data.dir",
    "dfs.nameservices",
    "dfs.replication",
    "hadoop.security.authentication",
    "yarn.nodemanager.local-dirs",
    "yarn.nodemanager.resource.memory-mb",
    "yarn.nodemanager.resource.cpu-vcores",
    "yarn.resourcemanager.ha.enabled",
)
"""Settings of Hadoop that are reported."""
USUAL_CONFIGURATION = ("/etc/hadoop/conf", "/etc/hadoop", "/opt/hadoop/etc/hadoop", "/usr/local/hadoop/etc/hadoop")
"""Folders of Hadoop's configuration that are tried if no daemon names its folder."""
SERVICES = ("firewalld", "ufw", "tuned", "chronyd", "ntpd", "systemd-timesyncd", "irqbalance", "auditd", "numad")
"""Services that can disturb a measurement, or that keep the clock."""
SCRUBS = ("raid-check", "mdcheck", "mdadm", "e2scrub", "fstrim", "btrfs", "zfs", "updatedb", "mlocate", "plocate")
"""Parts of names of timers and cron jobs that read or check whole disks."""


def user_of(folder: str) -> str:
    """Return the owner of a process."""
    uid = os.stat(folder).st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def properties(folder: str) -> Dict[str, str]:
    """Return the properties in the configuration files of a Hadoop directory."""
    values = {}  # type: Dict[str, str]
    for name in ("core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml"):
        try:
            tree = ElementTree.parse(os.path.join(folder, name))  # noqa: S314 - the host's own settings
        except (OSError, ElementTree.ParseError):
            continue
        for entry in tree.iter("property"):
            key, value = entry.findtext("name"), entry.findtext("value")
            if key and value:
                values[key.strip()] = value.strip()
    return values


def is_configuration(folder: str) -> bool:
    """Return whether a directory has a configuration of Hadoop."""
    return os.access(os.path.join(folder, "core-site.xml"), os.R_OK)


def configuration_of(arguments: List[str]) -> Optional[str]:
    """Return the configuration directory in a daemon's class path or options."""
    parts = []  # type: List[str]
    for option, argument in zip(["", *arguments], arguments):  # noqa: B905 - Python 3.10
        if option in ("-cp", "-classpath", "--class-path"):
            parts += argument.split(":")
    return next((part.rstrip("/") for part in parts if part.startswith("/") and is_configuration(part)), None)


def version_of(arguments: List[str]) -> Optional[str]:
    """Return the version in the name of the common library on a class path, including directories of jars."""
    paths = [path for argument in arguments for path in argument.split(":") if path.startswith("/")]
    for path in paths:
        names = [path]
        if path.endswith("/*"):
            names = glob.glob(path + ".jar")
        for name in names:
            match = re.search(r"(?:hadoop-common|spark-core_[0-9.]+)-([0-9][\w.-]*?)\.jar$", name)
            if match and "tests" not in name:
                return match.group(1)
    return None


def json_at(address: str, path: str) -> Any:
    """Return the JSON at an address of this host; None if there is none."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open("http://" + address + path, timeout=HTTP_TIMEOUT_S) as reply:
            return json.loads(reply.read().decode("utf-8", "replace"))
    except (OSError, ValueError):
        return None


def addresses_of(settings: Dict[str, str], role: str) -> List[str]:
    """Return the possible HTTP addresses of a daemon of this host, most likely first."""
    key, port, _ = WEB[role]
    host_name = os.uname().nodename
    configured_addresses = [value for name, value in settings.items() if name == key or name.startswith(key + ".")]
    addresses = [re.sub(r"^(0\.0\.0\.0)?:", host_name + ":", value) for value in configured_addresses if ":" in value]
    resourcemanager_hosts = [settings[name] for name in settings if name.startswith("yarn.resourcemanager.hostname")]
    if role == "resourcemanager":
        addresses += ["%s:%d" % (host, port) for host in resourcemanager_hosts]
    return list(dict.fromkeys([*addresses, "%s:%d" % (host_name, port), "127.0.0.1:%d" % port]))


def state(settings: Dict[str, str], role: str) -> Dict[str, Any]:
    """Return a daemon's state as it reports it: address, version, active or standby, safe mode, live nodes."""
    if role not in WEB:
        return {}
    report, address = None, None
    for address in addresses_of(settings, role):
        report = json_at(address, WEB[role][2])
        if report is not None:
            break
    if report is None:
        return {}
    daemon = {"address": address}  # type: Dict[str, Any]
    if "beans" in report:
        beans = {key: value for bean in report["beans"] for key, value in bean.items()}
        daemon["version"] = str(beans.get("Version") or "").split(",")[0] or None
        daemon["active"] = {"active": True, "standby": False}.get(str(beans.get("State") or beans.get("tag.HAState")))
        daemon["safe_mode"] = bool(beans["Safemode"]) if "Safemode" in beans else None
        try:
            daemon["live"] = sorted(name.split(":")[0] for name in json.loads(beans.get("LiveNodes") or "{}"))
        except ValueError:
            pass
    else:
        report = next(iter(report.values()))
        daemon["version"] = report.get("hadoopVersion")
        daemon["active"] = {"ACTIVE": True, "STANDBY": False}.get(report.get("haState", ""))
    if role == "resourcemanager" and daemon["active"] is not False and address:
        metrics = (json_at(address, "/ws/v1/cluster/metrics") or {}).get("clusterMetrics", {})
        daemon["running_jobs"] = metrics.get("appsRunning")
        daemon["containers"] = metrics.get("containersAllocated")
        daemon["unhealthy"] = metrics.get("unhealthyNodes")
    return daemon


def open_files_limit(process: str) -> Optional[int]:
    """Return the open-files limit of a process; None if it is not readable."""
    match = re.search(r"^Max open files\s+(\w+)", text_of(process + "/limits") or "", re.M)
    return int(match.group(1)) if match and match.group(1).isdigit() else None


def in_host_network(process: str) -> bool:
    """Return whether a process is in this host's network namespace, unlike processes in a container."""
    try:
        return os.readlink(process + "/ns/net") == os.readlink("/proc/self/ns/net")
    except OSError:
        return True


def daemons() -> List[Dict[str, Any]]:
    """Return all daemons of Hadoop and Spark, with their configuration and state."""
    states = []
    for process in sorted(glob.glob("/proc/[0-9]*"), key=lambda path: int(path[6:])):
        words = (text_of(process + "/cmdline") or "").split("\0")
        role = next((ROLES[word] for word in words if word in ROLES), None)
        if role is None or not in_host_network(process):
            continue
        folder = configuration_of(words) or next(filter(is_configuration, USUAL_CONFIGURATION), None)
        settings = properties(folder) if folder else {}
        daemon_state = state(settings, role)
        states.append(
            {
                "role": role,
                "user": user_of(process),
                "pid": int(process[6:]),
                "configuration": folder,
                "settings": {name: settings[name] for name in SETTINGS if name in settings},
                "by_assay": any(word.startswith("-Dassay.deployment=") for word in words),
                "open_files": open_files_limit(process),
                **daemon_state,
                "version": daemon_state.get("version") or version_of(words),
            }
        )
    return states


def clients() -> Dict[str, Any]:
    """Return the programs on this host that submit jobs, and the usual configuration directories."""
    folders = [os.environ.get("HADOOP_CONF_DIR", ""), *USUAL_CONFIGURATION]
    return {
        "programs": {name: shutil.which(name) for name in ("hadoop", "hdfs", "yarn", "spark-submit")},
        "configurations": [folder for folder in dict.fromkeys(folders) if folder and is_configuration(folder)],
    }


def javas() -> Dict[str, Any]:
    """Return the version of each installed Java by directory, and the version of ``java`` on the PATH."""
    versions = {}
    for release in sorted(glob.glob("/usr/lib/jvm/*/release") + glob.glob("/opt/*/release")):
        match = re.search(r'^JAVA_VERSION="([^"]+)"', text_of(release) or "", re.M)
        if match:
            versions[os.path.realpath(os.path.dirname(release))] = match.group(1)
    program = shutil.which("java")
    version = None
    if program:
        try:
            result = subprocess.run(
                [program, "-version"],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=JAVA_TIMEOUT_S,
                check=False,
            )
            match = re.search(r'version "([^"]+)"', result.stdout.decode("utf-8", "replace"))
            version = match.group(1) if match else None
        except (OSError, subprocess.TimeoutExpired):
            pass
    home = os.path.dirname(os.path.dirname(os.path.realpath(program))) if program else None
    return {"home": home, "version": version, "installed": versions}


def timers() -> List[str]:
    """Return the names of scheduled tasks: cron files and systemd timers."""
    paths = glob.glob("/etc/cron.d/*") + glob.glob("/etc/cron.*ly/*") + glob.glob("/var/spool/cron/*/*")
    paths += glob.glob("/etc/systemd/system/*.wants/*.timer")
    return sorted({os.path.basename(path) for path in paths if not os.path.basename(path).startswith(".")})


def running_services() -> List[str]:
    """Return the active services among those that affect a measurement."""
    programs = {os.path.basename((text_of(path) or "").split("\0")[0]) for path in glob.glob("/proc/[0-9]*/cmdline")}
    process_names = {text_of(path) for path in glob.glob("/proc/[0-9]*/comm")}
    return sorted(name for name in SERVICES if name in programs or name[:15] in process_names)


def main() -> None:
    """Print all values as JSON."""
    timer_names = timers()
    enforce = text_of("/sys/fs/selinux/enforce")
    tables = [text_of("/proc/net/ip_tables_names"), text_of("/proc/net/ip6_tables_names")]
    answer = {
        "daemons": daemons(),
        "clients": clients(),
        "java": javas(),
        "timers": timer_names,
        "scrubs": [name for name in timer_names if any(word in name for word in SCRUBS)],
        "services": running_services(),
        "tuned_profile": text_of("/etc/tuned/active_profile"),
        "selinux": {"1": "enforcing", "0": "permissive"}.get(enforce or "", "off"),
        "firewall_tables": sorted({word for table in tables for word in (table or "").split()}),
        "default_open_files": text_of("/proc/sys/fs/nr_open"),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
