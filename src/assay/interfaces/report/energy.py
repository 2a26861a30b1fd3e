"""Compose the chapter on energy: the energy of a job and of the years of use, for each option of the first decision.

In: a report. Out: a chapter, if the price book states the power of the hardware. The only computation here is energy
(kWh) = power × hours of use.
"""

from assay.interfaces.report.output.document import Chapter, Line, Paragraph
from assay.interfaces.report.tables import table, table_blocks
from assay.model import YEAR_H
from assay.questions.decisions.sentences.option_words import compared_option
from assay.questions.report.values import Report
from assay.text import NO_VALUE, money, scale_text, workload_title


def energy_chapter(report: Report) -> Chapter | None:
    """Return the chapter on the energy of the first decision's options; None if the price book states no power."""
    decision = report.decisions[0] if report.decisions else None
    if decision is None or decision.energy is None or decision.currency is None:
        return None
    energy = decision.energy
    workload = workload_title(energy.workload)
    scale = f", on the lab's scale model ({scale_text(float(decision.lab_scale))})" if decision.lab_scale else ""
    text = (
        f"Power is the price book's power of the hardware, times the power usage effectiveness (PUE). It is not "
        f"measured, and the hardware is assumed to draw it day and night. Energy of a job is power × run time of "
        f"{workload}{scale}, with the 95 % interval of the run time on the baseline, and of the speedup on the other "
        f"options. A kWh costs "
        f"{money(energy.kwh_price, decision.currency)}."
    )
    rows: list[tuple[Line | str, ...]] = []
    for option in energy.options:
        kwh = option.power_w / 1000 * energy.years * YEAR_H
        has_interval = option.low is not None and option.high is not None
        rows.append(
            (
                compared_option(decision, option.option),
                f"{option.power_w:,.0f}",
                f"{option.kwh_per_job:.3g}",
                f"{option.low:.3g} to {option.high:.3g}" if has_interval else NO_VALUE,
                f"{kwh:,.0f}",
                money(kwh * energy.kwh_price, decision.currency),
            )
        )
    years = f"{energy.years:g} years"
    columns = (
        "Option",
        "#Power (W)",
        f"#kWh per {workload} job",
        "#95 % interval",
        f"#kWh in {years}",
        f"#Cost in {years}",
    )
    full_table = table(columns, rows, "Energy of each option")
    return Chapter("energy", "Energy", (Paragraph((text,)), *table_blocks(full_table, "energy")))
