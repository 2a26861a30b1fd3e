"""WordCount over random text, both from Hadoop's examples; the text is written by RandomTextWriter.

The words come from a list of 1000, so the output is small: it can be read back, and the sum of its counts must be the
number of words that the maps emitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.model.program import Outcome, Program
from assay.model.run import Check
from assay.workloads.base import OUTPUT, Defaults, Facts, Input, Size, Verdict, about, common_checks, equal, reducing
from assay.workloads.randomtext import TEXT_LINES, text_input

_OUTPUT = f"{OUTPUT}/wordcount"


@dataclass(frozen=True, slots=True)
class WordCount(Defaults):
    """Count words of random text."""

    name: str = "wordcount"

    def data_bytes(self, size: Size) -> int:
        """Return the bytes of text that were asked for; the writer stops a little above."""
        return size.data_bytes

    def input(self, size: Size) -> Input | None:
        """Need the text."""
        return text_input(size, TEXT_LINES)

    def program(self, size: Size, input_path: str | None) -> Program:
        """Count the words."""
        return Program("org.apache.hadoop.examples.WordCount", (input_path or "", _OUTPUT), reducing(size))

    def outputs(self) -> tuple[str, ...]:
        """Name the counts."""
        return (_OUTPUT,)

    async def verdict(self, size: Size, outcome: Outcome, facts: Facts) -> Verdict:
        """Check that the counts add up to the words that the maps emitted, and that all text was read."""
        stored = await facts.files.stored(facts.input_place) if facts.input_place else None
        checks = [*common_checks(outcome)]
        if outcome.exit_status != 0:
            return Verdict(tuple(checks))
        words, metrics = 0, dict[str, float]()
        for path in await facts.files.paths(_OUTPUT):
            lines = (await facts.files.read(path)).decode(errors="replace").splitlines()
            words += sum(int(line.rsplit("\t", 1)[-1]) for line in lines)
        checks.append(equal("words counted", words, outcome.counter("MAP_OUTPUT_RECORDS") or -1, "words"))
        read = outcome.counter("HDFS_BYTES_READ") or 0
        if stored is not None:
            passed = read >= stored.length_bytes
            checks.append(Check("bytes read", passed, f"{read:,} bytes, at least {stored.length_bytes:,} expected"))
            checks.append(about("input size", stored.length_bytes, size.data_bytes))
            metrics["input_bytes"] = float(stored.length_bytes)
        return Verdict(tuple(checks), metrics)
