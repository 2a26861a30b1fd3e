"""The chapters that every report has: method, findings, threats to validity, appendix, and how to make it again.

In: a report's :class:`ReportFrame` and facts. Out: chapters of a :class:`Document`. Nothing is computed here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.compare.findings import ClaimAnswer
from assay.compare.result import SpeedupResult
from assay.compare.threats import Threat
from assay.questions.hosts import CheckedCluster
from assay.questions.report_frame import LEVELS_SHOWN, LeveledFactor, ReportFrame
from assay.questions.report_parts import Fact
from assay.report.document import (
    Block,
    Chapter,
    Code,
    Facts,
    Fold,
    Heading,
    Level,
    Line,
    Listing,
    Paragraph,
    Points,
    Table,
    TableColumn,
)
from assay.wording import language, numbers, ratios, runs_flagged

_EVIDENCE_NONE = "Too few sets of runs differ in nothing but what the claim is about."


@dataclass(frozen=True, slots=True)
class Parts:
    """What the documents of single configurations and of matched sets do not share."""

    kicker: str
    notes: tuple[str, ...]
    method: Chapter
    results: tuple[Chapter, ...]
    cost: Chapter | None
    runs: tuple[Block, ...]
    """How the appendix tells of the runs."""
    palette: Mapping[str, str]


def line(*parts: str | Code) -> Line:
    """Return parts as a line."""
    return tuple(parts)


def table(columns: Sequence[str], rows: Iterable[Sequence[Line | str]], caption: str = "") -> Table:
    """Return a table; a title that begins with ``#`` is a column of numbers."""
    titles = tuple(TableColumn(title.removeprefix("#"), title.startswith("#")) for title in columns)
    cells = tuple(tuple((cell,) if isinstance(cell, str) else cell for cell in row) for row in rows)
    return Table(titles, cells, caption)


def ratios_table(
    first: str, what: str, more: Sequence[str], compared: Iterable[tuple[str, SpeedupResult, Sequence[str]]]
) -> Table:
    """Return a table of comparisons, each with its name and its cells for the columns ``more``."""
    rows: list[tuple[Line | str, ...]] = [
        (
            name,
            (Level(c.candidate), " against ", Level(c.baseline)),
            ratios.ratio(c.ratio),
            ratios.interval(c.low, c.high),
            *told,
        )
        for name, c, told in compared
    ]
    return table((first, what, "#Ratio", "#95 % interval", *more), rows)


def method_chapter(title: str, facts: Sequence[Fact], notes: Sequence[Block] = ()) -> Chapter:
    """Return how it was measured or compared."""
    return Chapter("method", title, (Facts(tuple(facts)), *notes))


def findings_chapter(frame: ReportFrame) -> Chapter | None:
    """Return what the runs say to the published claims; None where there is not even a claim to test."""
    if not frame.findings.by_origin:
        return None
    blocks: list[Block] = [
        Paragraph(
            line(
                "Claims of the published studies, tested on these runs alone: sets of runs that are equal in all else, "
                "every workload counting the same. ",
                Code("assay findings"),
                " tests them on the whole repository.",
            )
        )
    ]
    by_origin = frame.findings.by_origin
    for origin, found in by_origin.items():
        told = [finding for finding in found if any(one.ratio is not None for one in finding.evidence)]
        if told:
            rows = [
                (
                    f.claim,
                    language.capitalised(f.answer.value),
                    f"{'; '.join(str(one) for one in f.evidence)}. {f.judged}".rstrip(),
                    f.source,
                )
                for f in told
            ]
            blocks.append(
                table(("Claim", "Answer", "Numbers", "Claimed by"), rows, origin if len(by_origin) > 1 else "")
            )
        silent = [finding.claim.rstrip(".") for finding in found if finding not in told]
        if silent:
            assert all(f.answer is ClaimAnswer.UNDECIDED for f in found if f not in told)
            blocks.append(Paragraph(line(f"These runs can't tell: {'; '.join(silent)}. {_EVIDENCE_NONE}"), "soft"))
    if frame.findings.flagged:
        blocks.append(Paragraph(line(f"{runs_flagged(frame.findings.flagged)}, and count."), "soft"))
    return Chapter("findings", "Findings", tuple(blocks))


def threats_chapter(threats: Sequence[Threat]) -> Chapter | None:
    """Return what could make the conclusions wrong; None when the runs give no reason for caution."""
    if not threats:
        return None
    return Chapter("threats", "Threats to validity", (Points(tuple(Fact(t.title, t.text) for t in threats)),))


def _levels(setting: LeveledFactor) -> str:
    told = [
        (numbers.size(float(level)) if setting.name.endswith("_bytes") and level.isdigit() else level, number)
        for level, number in setting.levels[:LEVELS_SHOWN]
    ]
    shown = [f"{level} ({number:,})" if setting.varies else level for level, number in told]
    more = len(setting.levels) - len(shown)
    texts = [
        *shown,
        *([f"and {more} more"] if more else []),
        *([f"not in {language.plural(setting.absent, 'run')}"] if setting.absent else []),
    ]
    return ", ".join(texts)


def appendix_chapter(frame: ReportFrame, runs: Sequence[Block]) -> Chapter:
    """Return configuration and provenance; ``runs``: how the report tells its runs."""
    varied = [(setting.name, _levels(setting)) for setting in frame.settings if setting.varies]
    fixed = [(setting.name, _levels(setting)) for setting in frame.settings if not setting.varies]
    blocks: list[Block] = [Heading("Configuration")]
    if varied:
        blocks.append(table(("What differs", "Levels (runs)"), varied))
    if fixed:
        blocks.append(
            Fold(f"What is the same in every run that has it ({len(fixed)})", (table(("Setting", "Level"), fixed),))
        )
    if frame.hosts:
        blocks += [Heading("Hosts as they were found"), Facts(frame.hosts)]
    for one in frame.checked:
        blocks += _fitness(one)
    blocks += [Heading("Provenance"), Facts(frame.provenance), *runs]
    return Chapter("appendix", "Appendix: configuration and provenance", tuple(blocks))


def _fitness(one: CheckedCluster) -> list[Block]:
    """Return what was not fit on the hosts of a cluster, with who recommends what."""
    counts = ", ".join(f"{count} {grade}" for grade, count in one.counts.items() if count)
    checks, hosts = len(one.fitness.criteria), len(one.fitness.hosts)
    words = f"{checks} checks on {hosts} hosts at {one.fitness.checked_at}: {counts}."
    rows = [
        (
            str(item.reading.grade),
            item.reading.host,
            f"{item.criterion.title} {item.reading.subject}".strip(),
            item.reading.found,
            "; ".join(f"{advice.value} ({advice.source})" for advice in item.criterion.advice),
        )
        for item in one.troubles
    ]
    found = table(("Grade", "Host", "Check", "Found", "Recommended, and by whom"), rows)
    title = f"Were the hosts of {one.fitness.cluster} fit to be measured?"
    told: list[Block] = [Heading(title), Paragraph(line(words))]
    return [*told, Fold(f"What was not fit ({len(rows)})", (found,))] if rows else told


def reproduce_chapter(frame: ReportFrame) -> Chapter:
    """Return the commands, and the plans as they were carried out."""
    blocks: list[Block] = [
        Paragraph(
            line(
                "In a folder with the plan, the cluster file and the price book. ",
                Code("assay report --bundle"),
                " packs them with the runs, so that somebody else can check this report and run it again.",
            )
        ),
        Listing("\n".join(frame.commands)),
    ]
    shown: dict[str, str] = {}
    for plan in frame.plans:
        if shown.get(plan.text) is None:
            shown[plan.text] = plan.plan
            blocks.append(Fold(f"The plan {plan.plan}", (Listing(plan.text, f"{plan.plan}.yaml"),)))
    return Chapter("reproduce", "How to reproduce it", tuple(blocks))


def kept(*chapters: Chapter | None) -> tuple[Chapter, ...]:
    """Return the chapters that there are."""
    return tuple(chapter for chapter in chapters if chapter is not None)
