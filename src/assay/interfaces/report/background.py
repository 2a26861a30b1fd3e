"""Compose the background chapters of a report: method, findings, threats to validity, appendix, reproduction.

In: a report. Out: chapters of a document. Nothing is computed here.
"""

from assay.interfaces.report.decisions import caveats_of
from assay.interfaces.report.output.document import (
    Block,
    Chapter,
    Code,
    Facts,
    Fold,
    Heading,
    Listing,
    Paragraph,
    Points,
)
from assay.interfaces.report.runs import run_blocks
from assay.interfaces.report.tables import table, table_blocks
from assay.questions.claims.claims import ClaimAnswer
from assay.questions.claims.findings import FindingsView
from assay.questions.clusters.hosts import CheckedCluster
from assay.questions.report.request import Fact
from assay.questions.report.values import FactorLevels, Report
from assay.text import capitalised, numbers, outlier_runs_text, plural, slug

LEVELS_MAX = 8
"""Maximum number of levels listed for a setting."""
WARNINGS_MAX = 8
"""Maximum number of warnings in the chapter on the method."""
PLAN_LINES_MAX = 60
"""Maximum number of lines of a plan in the document; the package has the whole file."""
PLANS_MAX = 3
"""Maximum number of plans in the document."""


def method_chapter(report: Report) -> Chapter:
    """Return the chapter on how the runs were made and compared."""
    warnings = [Paragraph((f"{capitalised(str(warning))}.",), "warn") for warning in report.warnings[:WARNINGS_MAX]]
    return Chapter("method", "How it was measured", (Facts(report.method), *warnings))


def findings_chapter(view: FindingsView) -> Chapter | None:
    """Return the chapter on published claims, tested on the report's runs; None without claims to test."""
    if not view.by_origin:
        return None
    blocks: list[Block] = [
        Paragraph(
            (
                "Claims of the published studies, tested on the runs of this report. Each ratio is over matched groups "
                "and counts every workload the same. ",
                Code("assay findings"),
                " tests them on the whole repository.",
            )
        )
    ]
    for origin, findings in view.by_origin.items():
        tested_findings = [finding for finding in findings if any(item.ratio is not None for item in finding.evidence)]
        rows = [
            (
                finding.claim,
                capitalised(finding.answer.value),
                f"{' '.join(str(item) for item in finding.evidence)} {finding.judged}".rstrip(),
                finding.source,
            )
            for finding in tested_findings
        ]
        if rows:
            full_table = table(
                ("Claim", "Answer", "Numbers", "Source"), rows, origin if len(view.by_origin) > 1 else ""
            )
            blocks += table_blocks(full_table, f"findings-{slug(origin)}")
        untested_findings = [finding for finding in findings if finding not in tested_findings]
        if untested_findings:
            assert all(finding.answer is ClaimAnswer.UNDECIDED for finding in untested_findings)
            claims = "; ".join(finding.claim.rstrip(".") for finding in untested_findings)
            text = f"Not tested: {claims}. Too few matched groups differ only in the factor of these claims."
            blocks.append(Paragraph((text,), "soft"))
    if view.flagged:
        blocks.append(Paragraph((f"{outlier_runs_text(view.flagged)}, and count.",), "soft"))
    return Chapter("findings", "Findings", tuple(blocks))


def threats_chapter(report: Report) -> Chapter | None:
    """Return the chapter on the decisions' caveats and other threats to validity; None without any."""
    facts = (*caveats_of(report), *(Fact(threat.title, threat.text) for threat in report.threats))
    return Chapter("threats", "Caveats and threats to validity", (Points(facts),)) if facts else None


def appendix_chapter(report: Report) -> Chapter:
    """Return the appendix: configuration, hosts, provenance and runs."""
    provenance = report.provenance
    varied_settings = [(setting.name, _levels(setting)) for setting in provenance.settings if setting.varies]
    fixed_settings = [(setting.name, _levels(setting)) for setting in provenance.settings if not setting.varies]
    blocks: list[Block] = [Heading("Configuration")]
    if varied_settings:
        blocks += table_blocks(table(("Varies", "Levels (runs)"), varied_settings), "configuration-varies", 30)
    if fixed_settings:
        fixed_blocks = table_blocks(table(("Setting", "Level"), fixed_settings), "configuration-same")
        blocks.append(Fold(f"Settings that are the same in every run ({len(fixed_settings)})", fixed_blocks))
    if provenance.hosts:
        blocks += [Heading("Hosts"), Facts(provenance.hosts)]
    for cluster in provenance.checked:
        blocks += _host_checks(cluster)
    blocks += [Heading("Provenance"), Facts(provenance.facts), *run_blocks(report)]
    return Chapter("appendix", "Appendix: configuration and provenance", tuple(blocks))


def reproduce_chapter(report: Report) -> Chapter:
    """Return the chapter on reproduction: the commands, and the plans as they were executed."""
    blocks: list[Block] = [
        Paragraph(
            (
                "Run these in a folder with the plan, the cluster file and the price book. ",
                Code("assay report --bundle"),
                " packs them with the runs, so that others can check this report and run it again.",
            )
        ),
        Listing("\n".join(report.provenance.commands)),
    ]
    plans = {plan.text: plan.plan for plan in reversed(report.provenance.plans)}
    for text, name in list(reversed(plans.items()))[:PLANS_MAX]:
        lines = text.splitlines()
        plan_text = "\n".join(lines[:PLAN_LINES_MAX])
        plan_text += f"\n# … {len(lines) - PLAN_LINES_MAX} more lines" if len(lines) > PLAN_LINES_MAX else ""
        blocks.append(Fold(f"The plan {name}", (Listing(plan_text, f"{name}.yaml"),)))
    if len(plans) > PLANS_MAX:
        text = f"{plural(len(plans) - PLANS_MAX, 'further plan')}: in the package."
        blocks.append(Paragraph((text,), "soft"))
    return Chapter("reproduce", "How to reproduce it", tuple(blocks))


def _levels(setting: FactorLevels) -> str:
    levels = [
        (numbers.size(float(level)) if setting.name.endswith("_bytes") and level.isdigit() else level, number)
        for level, number in setting.levels[:LEVELS_MAX]
    ]
    texts = [f"{level} ({number:,})" if setting.varies else level for level, number in levels]
    omitted_count = len(setting.levels) - len(texts)
    texts += [f"and {omitted_count} more"] if omitted_count else []
    texts += [f"not recorded in {plural(setting.absent, 'run')}"] if setting.absent else []
    return ", ".join(texts)


def _host_checks(cluster: CheckedCluster) -> list[Block]:
    """Return the blocks on the failed host checks of a cluster, with recommended values and their sources."""
    report = cluster.report
    counts = ", ".join(f"{count} {grade}" for grade, count in cluster.counts.items() if count)
    summary = f"{len(report.criteria)} checks on {len(report.hosts)} hosts at {report.checked_at}: {counts}."
    rows = [
        (
            str(item.reading.grade),
            item.reading.host,
            f"{item.criterion.title} {item.reading.subject}".strip(),
            item.reading.message,
            "; ".join(f"{advice.value} ({advice.source})" for advice in item.criterion.advice),
        )
        for item in cluster.problems
    ]
    blocks: list[Block] = [Heading(f"Host checks of {report.cluster}"), Paragraph((summary,))]
    if rows:
        full_table = table(("Grade", "Host", "Check", "Value", "Recommended (source)"), rows)
        blocks.append(
            Fold(f"Failed checks ({len(rows)})", table_blocks(full_table, f"host-checks-{slug(report.cluster)}"))
        )
    return blocks
