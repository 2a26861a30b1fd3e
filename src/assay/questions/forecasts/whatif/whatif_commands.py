"""Compose the commands that a what-if answer names: the next change to simulate, and the prices to state.

In: an answer, the options of its question, and its further words. Out: commands that run as they are printed, after a
price replaces ``AMOUNT`` and a file replaces ``BOOK``.
"""

from collections.abc import Sequence
from dataclasses import replace

from assay.questions.commands import CommandOptions, command
from assay.questions.forecasts.whatif.whatif_answer import WhatIfAnswer


def next_change_command(answer: WhatIfAnswer, options: CommandOptions, words: Sequence[str] = ()) -> str:
    """Return the command that simulates the next change; empty without one.

    ``words``: those of the question besides its changes and its options, such as a stated price.
    """
    row, changes = answer.next_changes
    if row is None or not changes:
        return ""
    where = tuple(dict.fromkeys([*options.where, f"workload={row.workload}"]))
    texts = [f"{name}={value}" for name, value in {**row.changes, **changes}.items()]
    return _whatif(texts, replace(options, where=where), words)


def prices_command(answer: WhatIfAnswer, options: CommandOptions, words: Sequence[str] = ()) -> str:
    """Return the command that states the missing prices, or names a price book; empty if no price is missing."""
    texts = [f"{name}={value}" for name, value in answer.configurations[0].changes.items()]
    if not options.prices:
        return _whatif(texts, replace(options, prices="BOOK"), words)
    missing_names = {
        part.name: None for row in answer.configurations for part in row.missing_prices if part.price is None
    }
    if not missing_names:
        return ""
    price_words = [word for name in missing_names for word in ("--price", f"{name}=AMOUNT")]
    return _whatif(texts, options, [*words, *price_words])


def _whatif(changes: Sequence[str], options: CommandOptions, words: Sequence[str]) -> str:
    return command("whatif", *words, *(word for text in changes for word in ("--set", text)), options=options)
