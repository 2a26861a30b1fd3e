"""WordCount over random text, both from Hadoop's examples; the text is written by RandomTextWriter.

The words come from a list of 1000, so the output is small: it can be read back, and the sum of its counts must be the
number of words that the maps emitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.model.program import Outcome, Program
from assay.model.run import Check, Task
from assay.workloads.base import OUTPUT, Facts, Input, Size, Verdict, common_checks, equal

_OUTPUT = f"{OUTPUT}/wordcount"
_TEXT_FORMAT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
DEFAULT_MAPS = 6


def _writer(size: Size, path: str) -> Program:
    maps = size.maps or DEFAULT_MAPS
    options = {
        "mapreduce.randomtextwriter.totalbytes": str(size.data_bytes),
        "mapreduce.randomtextwriter.bytespermap": str(max(1, size.data_bytes // maps)),
        "dfs.replication": str(size.replication),
    }
    return Program("org.apache.hadoop.examples.RandomTextWriter", ("-outFormat", _TEXT_FORMAT, path), options)


@dataclass(frozen=True, slots=True)
class WordCount:
    """Count words of random text."""

    name: str = "wordcount"

    def data_bytes(self, size: Size) -> int:
        """Return the bytes of text that were asked for; the writer stops a little above."""
        return size.data_bytes

    def input(self, size: Size) -> Input | None:
        """Need the text."""
        wanted = Input(_writer(size, ""), "randomtext", size.data_bytes, size.replication, exact=False)
        return wanted.with_program(_writer(size, wanted.place_in("data")), place=wanted.place_in("data"))

    def program(self, size: Size, input_path: str | None) -> Program:
        """Count the words."""
        options = {"mapreduce.job.reduces": str(size.reduces)} if size.reduces else {}
        return Program("org.apache.hadoop.examples.WordCount", (input_path or "", _OUTPUT), options)

    def streamed_bytes(self, task: Task) -> int:  # noqa: ARG002
        """Give no gated aggregate: tasks read, sort and write by turns."""
        return 0

    def outputs(self) -> tuple[str, ...]:
        """Name the counts."""
        return (_OUTPUT,)

    def check_program(self) -> Program | None:
        """Need no further program: the counts are read."""
        return None

    async def verdict(self, size: Size, outcome: Outcome, facts: Facts) -> Verdict:  # noqa: ARG002
        """Check that the counts add up to the words that the maps emitted, and that all text was read."""
        stored = await facts.files.stored(facts.input_place) if facts.input_place else None
        checks = [*common_checks(outcome)]
        if outcome.exit_status != 0:
            return Verdict(tuple(checks))
        words = 0
        for path in await facts.files.paths(_OUTPUT):
            lines = (await facts.files.read(path)).decode(errors="replace").splitlines()
            words += sum(int(line.rsplit("\t", 1)[-1]) for line in lines)
        checks.append(equal("words counted", words, outcome.counter("MAP_OUTPUT_RECORDS") or -1, "words"))
        read = outcome.counter("HDFS_BYTES_READ") or 0
        if stored is not None:
            passed = read >= stored.length_bytes
            checks.append(Check("bytes read", passed, f"{read:,} bytes, at least {stored.length_bytes:,} expected"))
        return Verdict(tuple(checks))
