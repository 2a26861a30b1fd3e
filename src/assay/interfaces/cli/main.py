"""The ``assay`` program: finds the command, prints errors in words, and imports a command only when it is used."""

import importlib
import sys

import click

from assay.foundation.errors import AssayError, did_you_mean
from assay.interfaces.cli.terminal import escaped_output

# Command name to (module, attribute, one-line help): the help is here so that `assay --help` imports no command.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("assay.interfaces.cli.start.demo", "demo", "Measure HDD against SSD on this machine and write a report."),
    "examples": (
        "assay.interfaces.cli.start.examples",
        "examples",
        "List the example clusters and plans, or copy them to a folder.",
    ),
    "lab": ("assay.interfaces.cli.maintain.lab", "lab", "Make, show and remove the emulated cluster."),
    "discover": (
        "assay.interfaces.cli.start.discover",
        "discover",
        "Look at hosts over SSH and write the cluster file for them.",
    ),
    "check": (
        "assay.interfaces.cli.start.check",
        "check",
        "Is each host fit to be measured? What to change, and who says so.",
    ),
    "observe": (
        "assay.interfaces.cli.measure.observe",
        "observe",
        "Watch any job, or a time, on a cluster, and keep it as a run.",
    ),
    "baseline": ("assay.interfaces.cli.measure.baseline", "baseline", "Measure what each bare device and link can do."),
    "run": ("assay.interfaces.cli.measure.run", "run", "Carry out a plan, or go on with an interrupted one."),
    "tune": (
        "assay.interfaces.cli.measure.tune",
        "tune",
        "Find the fastest configuration by runs, each chosen by the ones before.",
    ),
    "campaign": (
        "assay.interfaces.cli.measure.campaign",
        "campaign",
        "Show how campaigns stand, from another terminal too.",
    ),
    "runs": ("assay.interfaces.cli.explain.runs", "runs", "List the runs in the repository."),
    "show": ("assay.interfaces.cli.explain.runs", "show", "Show one run: phases, checks, metrics, environment."),
    "limits": (
        "assay.interfaces.cli.explain.limits",
        "limits",
        "Say what limited a run, and how much faster it could be at most.",
    ),
    "sign": ("assay.interfaces.cli.data.sign", "sign", "Vouch for bundles with an SSH key."),
    "verify": ("assay.interfaces.cli.explain.runs", "verify", "Check every bundle against its checksums."),
    "import": (
        "assay.interfaces.cli.data.imports",
        "import_results",
        "Take in results that exist already, in any known format.",
    ),
    "export": (
        "assay.interfaces.cli.data.exchange",
        "export",
        "Write runs as CSV, Parquet, JSON lines, or samples for other tools.",
    ),
    "pull": (
        "assay.interfaces.cli.data.exchange",
        "pull",
        "Take every run of another repository that is not here yet.",
    ),
    "push": ("assay.interfaces.cli.data.exchange", "push", "Give another repository every run that it lacks."),
    "decide": ("assay.interfaces.cli.decide.decide", "decide", "Decide which option is faster, and what it costs."),
    "compare": (
        "assay.interfaces.cli.decide.compare",
        "compare",
        "Compare a factor's levels: speedups with their intervals.",
    ),
    "speedup": (
        "assay.interfaces.cli.decide.speedup",
        "speedup",
        "How much faster a factor's levels are, over all matched runs.",
    ),
    "findings": ("assay.interfaces.cli.decide.findings", "findings", "What the runs say to the field's common claims."),
    "anomalies": (
        "assay.interfaces.cli.decide.findings",
        "anomalies",
        "List the runs that are odd for their configuration.",
    ),
    "predict": (
        "assay.interfaces.cli.forecast.predict",
        "predict",
        "How long a configuration will take that nobody ran, and how sure.",
    ),
    "next": (
        "assay.interfaces.cli.forecast.next",
        "next_command",
        "Which configurations to run next, so that least is left in doubt.",
    ),
    "characterise": (
        "assay.interfaces.cli.forecast.next",
        "characterise",
        "The fewest runs on a cluster that tell the rest of its plan.",
    ),
    "explain": (
        "assay.interfaces.cli.explain.explain",
        "explain",
        "What matters for a workload's time, factor by factor and in pairs.",
    ),
    "changes": ("assay.interfaces.cli.decide.speedup", "changes", "Tell when configurations became faster or slower."),
    "whatif": (
        "assay.interfaces.cli.forecast.whatif",
        "whatif",
        "Predict what measured runs would take on another cluster.",
    ),
    "recommend": (
        "assay.interfaces.cli.forecast.recommend",
        "recommend",
        "Which cluster to have for a mix of work, by simulation.",
    ),
    "learn": (
        "assay.interfaces.cli.forecast.profiles",
        "learn",
        "Learn from measured runs what workloads cost, for simulations.",
    ),
    "tco": ("assay.interfaces.cli.decide.tco", "tco", "Jobs per day, jobs over three years, and cost per job."),
    "cost": (
        "assay.interfaces.cli.decide.cost",
        "cost",
        "What a run costs: ranking, Pareto front, and prices that change the answer.",
    ),
    "prices": (
        "assay.interfaces.cli.decide.prices",
        "prices",
        "Price books: storage by capacity and performance; ALOJA's clusters.",
    ),
    "report": (
        "assay.interfaces.cli.decide.report",
        "report",
        "Write one self-contained HTML file with tables and charts.",
    ),
    "profile": (
        "assay.interfaces.cli.forecast.profile",
        "profile_command",
        "What each workload does with data and CPU, against TeraSort.",
    ),
    "layout": (
        "assay.interfaces.cli.measure.layout",
        "layout",
        "Split devices into directories by bandwidth; show how they fill.",
    ),
    "serve": (
        "assay.interfaces.cli.maintain.serve",
        "serve",
        "Show the repository in a browser, and offer it to pull and push.",
    ),
    "schema": ("assay.interfaces.cli.maintain.schema", "schema", "Print the JSON Schema of a specification file."),
    "device": (
        "assay.interfaces.cli.maintain.device",
        "device",
        "Put a disk of your own into the lab: from fio's report to its numbers.",
    ),
    "spark": ("assay.interfaces.cli.maintain.spark", "spark", "Fetch Spark, or show which one is used."),
    "hadoop": (
        "assay.interfaces.cli.maintain.hadoop",
        "hadoop",
        "Fetch the Hadoop distribution, or show which one is used.",
    ),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the command names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return the command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; one that is not there is told with those that look like it."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"No such command {args[0]!r}. {near[:1].upper()}{near[1:]}".strip(), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


def _show_version(context: click.Context, parameter: click.Parameter, asked: bool) -> None:  # noqa: ARG001 - click's
    if asked and not context.resilient_parsing:
        from assay.foundation.installation import installation

        click.echo(f"assay {installation().version}")
        context.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and the commit, and exit.",
)
def assay() -> None:
    """Measure which storage, network and configuration a Hadoop cluster should have, and what each answer costs."""


def main() -> None:
    """Entry point: run the command; end with the error's exit code and its words on stderr, without a traceback."""
    with escaped_output():
        try:
            code = assay(standalone_mode=False)
        except AssayError as error:
            click.echo(f"assay: {error}", err=True)
            sys.exit(error.exit_code)
        except click.exceptions.Abort:
            click.echo("assay: interrupted", err=True)
            sys.exit(130)
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(141)
        sys.exit(code if isinstance(code, int) else 0)
