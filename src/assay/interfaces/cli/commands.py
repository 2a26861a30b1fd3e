"""List all commands: group in ``assay --help``, module, summary, examples and deprecated names.

The table imports no command, so ``assay --help`` starts quickly.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """An entry of the table of commands.

    ``module``: module below ``assay.interfaces.cli``. ``attribute``: name of the click command in this module.
    """

    module: str
    attribute: str
    summary: str
    examples: tuple[str, ...]


GROUPS: dict[str, dict[str, CommandEntry]] = {
    "Start": {
        "demo": CommandEntry(
            "start.demo",
            "demo",
            "Measure hard disks against SSDs on this machine and write a report.",
            ("assay demo", "assay demo --local -o containers.html"),
        ),
        "examples": CommandEntry(
            "start.examples",
            "examples",
            "List the example clusters and plans, or copy them to a folder.",
            ("assay examples", "assay examples examples"),
        ),
        "discover": CommandEntry(
            "start.discover",
            "discover",
            "Inspect hosts over SSH and write their cluster file.",
            (
                "assay discover worker[01:12] --master worker01 -o cluster.yaml",
                "assay discover --from-hadoop conf/ -o cluster.yaml",
            ),
        ),
        "check": CommandEntry(
            "start.check",
            "check",
            "Check whether hosts are ready for measurements.",
            ("assay check cluster.yaml --deep", "assay check cluster.yaml --explain swappiness"),
        ),
    },
    "Measure": {
        "run": CommandEntry(
            "measure.run",
            "run",
            "Execute a plan, or continue an interrupted campaign.",
            ("assay run plan.yaml --dry-run", "assay run plan.yaml --until 2h"),
        ),
        "tune": CommandEntry(
            "measure.tune",
            "tune",
            "Search for the fastest configuration with a budget of runs.",
            (
                "assay tune plan.yaml --for terasort --over containers=2..16 --budget 30runs",
                "assay tune plan.yaml --for terasort --over compression=none,snappy --budget 10runs --simulate",
            ),
        ),
        "observe": CommandEntry(
            "measure.observe",
            "observe",
            "Observe any job, or an interval of time, on a cluster and store it as a run.",
            ("assay observe cluster.yaml -- hadoop jar etl.jar nightly", "assay observe cluster.yaml --for 10min"),
        ),
        "campaign": CommandEntry(
            "measure.campaign",
            "campaign",
            "Show the status of campaigns, also from another terminal.",
            ("assay campaign status --watch", "assay campaign list"),
        ),
        "baseline": CommandEntry(
            "measure.baseline",
            "baseline",
            "Measure the throughput of every device and link.",
            ("assay baseline cluster.yaml", "assay baseline cluster.yaml --json > baseline.json"),
        ),
        "layout": CommandEntry(
            "measure.layout",
            "layout",
            "Split devices into directories by bandwidth and show how they fill.",
            (
                "assay layout plan cluster.yaml --data 33GB",
                "assay layout plan cluster.yaml --hdfs hdd1,hdd2 --intermediate ssd1",
            ),
        ),
    },
    "Decide": {
        "decide": CommandEntry(
            "decide.decide",
            "decide",
            "Decide which option is faster, how much, and what it costs.",
            (
                "assay decide",
                "assay decide storage --where workload=terasort --prices prices.yaml",
                "assay decide network --baseline ETH --details options",
                "assay decide layout --details groups --all",
            ),
        ),
        "compare": CommandEntry(
            "decide.compare",
            "compare",
            "Compare chosen runs, or their configurations, side by side.",
            ("assay compare 01890a5d 01890b11", "assay compare 01890a5d 01890b11 --of runs"),
        ),
        "cost": CommandEntry(
            "decide.cost",
            "cost",
            "Rank configurations by cost per run, or by cost per job over years of use.",
            (
                "assay cost --prices prices.yaml --where workload=terasort",
                "assay cost --prices prices.yaml --by layout,cluster --currency EUR",
                "assay cost --prices prices.yaml --years 3",
            ),
        ),
        "report": CommandEntry(
            "decide.report",
            "report",
            "Write a report as HTML, Markdown or PDF, or a package that others can check.",
            ("assay report -o report.html --prices prices.yaml", "assay report --by network --bundle report.tar.gz"),
        ),
        "publish": CommandEntry(
            "decide.publish",
            "publish",
            "Write a static site: decisions, runs with filters, downloads.",
            ("assay publish site --prices prices.yaml", "assay publish site --where cluster=lab --title Storage"),
        ),
        "findings": CommandEntry(
            "decide.findings",
            "findings",
            "Compare the runs with common claims from the literature.",
            ("assay findings", "assay findings --prices prices.yaml --where cluster=lab"),
        ),
        "gate": CommandEntry(
            "decide.gate",
            "gate",
            "Fail a pipeline if configurations became slower than permitted.",
            (
                "assay gate --baseline 2026-11-01 --max-slowdown 5%",
                "assay gate --baseline version=2.1 --ignore version --junit gate.xml --markdown gate.md",
            ),
        ),
        "prices": CommandEntry(
            "decide.prices",
            "prices",
            "Compare storage prices, or convert a list of prices to a price book.",
            (
                "assay prices storage prices.yaml --baseline hdd",
                "assay prices aloja repository > prices.yaml",
                "assay prices instances vms.csv --region us-east-1 --type i4i.2xlarge --date 2026-11-27",
            ),
        ),
    },
    "Explain": {
        "runs": CommandEntry(
            "explain.runs",
            "runs",
            "List the runs of the repository.",
            ("assay runs --where workload=terasort --where layout=SS2", "assay runs --status failed --all"),
        ),
        "show": CommandEntry(
            "explain.show",
            "show",
            "Show one run: phases, tasks, checks, metrics, and which resource limited it.",
            ("assay show 01890a5d", "assay show 01890a5d --limits"),
        ),
        "tasks": CommandEntry(
            "explain.tasks",
            "tasks",
            "Show how long a run's tasks took by phase and node, and which are outliers.",
            ("assay tasks 01890a5d", "assay tasks 01890a5d --node worker1"),
        ),
        "scatter": CommandEntry(
            "explain.scatter",
            "scatter",
            "List two metrics of the matching runs, the points of a scatter chart.",
            (
                "assay scatter --x disk_read_bytes --by layout",
                "assay scatter --x gc_s --y cpu_s --where workload=terasort",
            ),
        ),
        "profile": CommandEntry(
            "explain.profile",
            "profile_command",
            "Show which code the tasks of a run executed.",
            (
                "assay profile 01890a5d",
                "assay profile 01890a5d --phase map --all",
                "assay profile diff 01890a5d 01890b11",
            ),
        ),
        "explain": CommandEntry(
            "explain.explain",
            "explain",
            "Show which factors, alone and in pairs, explain the run times.",
            ("assay explain --where workload=terasort", "assay explain --where workload=terasort --by layout,network"),
        ),
        "anomalies": CommandEntry(
            "explain.anomalies",
            "anomalies",
            "List outliers: runs whose time or traffic differs from comparable runs.",
            ("assay anomalies", "assay anomalies --where workload=terasort --second-opinion"),
        ),
        "changes": CommandEntry(
            "explain.changes",
            "changes",
            "Find when configurations became faster or slower.",
            ("assay changes", "assay changes --where workload=terasort --all"),
        ),
    },
    "Forecast": {
        "whatif": CommandEntry(
            "forecast.whatif",
            "whatif",
            "Simulate measured runs on a changed cluster.",
            (
                "assay whatif --set workers.count=12 --where workload=terasort",
                "assay whatif --set nic=25Gbit/s --prices prices.yaml",
            ),
        ),
        "recommend": CommandEntry(
            "forecast.recommend",
            "recommend",
            "Find the cluster that fits your workload and budget, by simulation.",
            (
                "assay recommend --workload terasort:1TB:daily --catalogue hardware.yaml --prices prices.yaml",
                "assay recommend --workload wordcount:200GB:4/day --catalogue hardware.yaml --prices prices.yaml "
                "--budget 100k --deadline 2h",
            ),
        ),
        "size": CommandEntry(
            "forecast.size",
            "size",
            "Size a cluster from the logs of one job.",
            (
                "assay size job_1526555215992_0001.jhist",
                "assay size eventlog_v2_app-1 --deadline 40min --catalogue hardware.yaml --prices prices.yaml",
            ),
        ),
        "predict": CommandEntry(
            "forecast.predict",
            "predict",
            "Predict run times of configurations without runs.",
            (
                "assay predict --where workload=terasort,layout=SSD,maps=16",
                "assay predict --batch configurations.csv -o predictions.csv",
            ),
        ),
        "next": CommandEntry(
            "forecast.next",
            "next_command",
            "Choose the runs that reduce uncertainty most, or count how many are enough.",
            (
                "assay next --budget 20runs --where workload=terasort",
                "assay next --budget 2h --about layout -o plan.yaml",
                "assay next lab --precision 5",
            ),
        ),
        "instances": CommandEntry(
            "forecast.instances",
            "instances",
            "List the machines that cloud providers rent, and make a hardware catalogue of them.",
            (
                "assay instances list 'i4i.*'",
                "assay instances show i4i.2xlarge",
                "assay instances catalogue i4i.2xlarge --disk-rates nvme=1GB/s:500MB/s --cpu-speed x86_64=2:1:4",
            ),
        ),
        "learn": CommandEntry(
            "forecast.learn",
            "learn",
            "Learn a simulation profile from measured runs.",
            ("assay learn -o profile.yaml", "assay learn --where engine=spark -o spark.yaml"),
        ),
        "data-flow": CommandEntry(
            "forecast.data_flow",
            "data_flow_command",
            "Compare what workloads read, shuffle, write and compute.",
            ("assay data-flow", "assay data-flow --reference wordcount --where layout=SS2"),
        ),
    },
    "Data": {
        "import": CommandEntry(
            "data.imports",
            "import_results",
            "Import existing results in any known format.",
            (
                "assay import history/",
                "assay import table results.csv --map seconds=duration_s --origin published",
                "assay import profile attempt_1.jfr --run 01890a5d",
            ),
        ),
        "export": CommandEntry(
            "data.export",
            "export",
            "Write runs as CSV, Parquet, JSON lines, or samples for other tools.",
            ("assay export csv --where workload=terasort -o runs.csv", "assay export parquet -o runs.parquet"),
        ),
        "push": CommandEntry(
            "data.exchange",
            "push",
            "Copy runs to another repository.",
            ("assay push /backup/repository --create", "assay push https://assay.example.org --token-file token"),
        ),
        "pull": CommandEntry(
            "data.exchange",
            "pull",
            "Copy runs from another repository or a report package.",
            ("assay pull /backup/repository", "assay pull report.tar.gz"),
        ),
        "verify": CommandEntry(
            "data.verify",
            "verify",
            "Check every bundle against its checksums and signature.",
            ("assay verify", "assay verify report.tar.gz"),
        ),
        "sign": CommandEntry(
            "data.sign",
            "sign",
            "Sign bundles with an SSH key.",
            ("assay sign --key id_ed25519", "assay sign 01890a5d-ac96-774b-bcce-b302099a8057 --key id_ed25519.pub"),
        ),
    },
    "Maintain": {
        "lab": CommandEntry(
            "maintain.lab",
            "lab",
            "Create, show and remove emulated clusters.",
            (
                "assay lab probe",
                "assay lab up cluster.yaml",
                "assay lab status",
                "assay lab ssh lab worker1 df -h",
                "assay lab down --all",
            ),
        ),
        "hadoop": CommandEntry(
            "maintain.hadoop",
            "hadoop",
            "Fetch Hadoop, or show the installation in use.",
            ("assay hadoop fetch", "assay hadoop where"),
        ),
        "spark": CommandEntry(
            "maintain.spark",
            "spark",
            "Fetch Spark, or show the installation in use.",
            ("assay spark fetch", "assay spark where"),
        ),
        "device": CommandEntry(
            "maintain.device",
            "device",
            "Calibrate a lab device from fio's report on a real disk.",
            (
                "assay device fio-job /mnt/disk1/fio.dat > disk.fio",
                "assay device calibrate fio.json --name fast --capacity 4TB",
            ),
        ),
        "schema": CommandEntry(
            "maintain.schema",
            "schema",
            "Print the JSON Schema of a specification file.",
            ("assay schema cluster", "assay schema plan > plan.schema.json"),
        ),
        "serve": CommandEntry(
            "maintain.serve",
            "serve",
            "Serve the repository to browsers, pull and push.",
            ("assay serve --repository demo/repository", "assay serve --port 0 --prices prices.yaml"),
        ),
        "mcp": CommandEntry(
            "maintain.mcp",
            "mcp",
            "Answer the questions of an AI assistant (Model Context Protocol).",
            ("assay mcp --repository results", "assay mcp --repository results --allow-run"),
        ),
    },
}

OLD_NAMES: dict[str, tuple[str, ...]] = {
    "speedup": ("decide", "--details", "options"),
    "tco": ("cost", "--years", "3"),
    "limits": ("show", "--limits"),
    "characterise": ("next", "--precision", "10"),
}
"""Deprecated command names, with the arguments that replace them. They work for one more release."""

COMMANDS: dict[str, CommandEntry] = {name: entry for group in GROUPS.values() for name, entry in group.items()}

ANSWER_COMMANDS = frozenset(name for title in ("Decide", "Explain", "Forecast") for name in GROUPS[title])
"""Commands whose output is paged if it is longer than the screen."""
