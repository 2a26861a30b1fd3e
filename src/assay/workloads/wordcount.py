"""WordCount over random text, both from Hadoop's examples; RandomTextWriter writes the text.

The words come from a list of 1000, so the output is small: it is read back, and the sum of its counts must be the
number of words that the maps emitted.
"""

from collections.abc import Mapping

from assay.model import Check, Outcome, Program
from assay.workloads.common.checks import approximately_equal, common_checks, equal_to_counter
from assay.workloads.common.hadoop_options import reduce_options, storage_options
from assay.workloads.common.inputs import OUTPUT, Input
from assay.workloads.common.spark_options import partitions, spark_program
from assay.workloads.data_flow import DataFlow
from assay.workloads.randomtext import TEXT_LINES, text_input
from assay.workloads.workload import INPUT_BYTES, MAPS, REDUCES, Size, ValidationInput, ValidationResult, Workload

_OUTPUT = f"{OUTPUT}/wordcount"


class WordCount(Workload):
    """Count the words of random text."""

    name, title = "wordcount", "WordCount"
    options = (MAPS, REDUCES)
    flow = DataFlow(read=1)
    cpu_bound = True  # K. Kambatla and Y. Chen, LISA'14, table 3
    outputs = (_OUTPUT,)
    figures = (INPUT_BYTES,)

    def input(self, size: Size) -> Input | None:
        """Return the text."""
        return text_input(size, TEXT_LINES)

    def programs(self, size: Size, input_path: str | None) -> Mapping[str, Program]:
        """Return the programs that count the words."""
        paths = (input_path or "", _OUTPUT)
        return {
            "hadoop": Program("org.apache.hadoop.examples.WordCount", paths, reduce_options(size)),
            "spark": spark_program("WordCount", *paths, partitions(size), options=storage_options(size)),
        }

    async def validate(self, size: Size, outcome: Outcome, validation_input: ValidationInput) -> ValidationResult:
        """Check that the counts add up to the words that the maps emitted, and that all text was read."""
        stored_files = (
            await validation_input.files.stored(validation_input.input_path) if validation_input.input_path else None
        )
        checks = [*common_checks(outcome)]
        if outcome.exit_status != 0:
            return ValidationResult(tuple(checks))
        words, metrics = 0, dict[str, float]()
        for path in await validation_input.files.paths(_OUTPUT):
            lines = (await validation_input.files.read(path)).decode(errors="replace").splitlines()
            words += sum(int(line.rsplit("\t", 1)[-1]) for line in lines)
        checks.append(equal_to_counter("words counted", words, outcome, "MAP_OUTPUT_RECORDS", "words"))
        read_bytes = outcome.counter("HDFS_BYTES_READ") or 0
        if stored_files is not None:
            passed = read_bytes >= stored_files.length_bytes
            checks += [
                Check("bytes read", passed, f"{read_bytes:,} bytes, at least {stored_files.length_bytes:,} expected"),
                approximately_equal("input size", stored_files.length_bytes, size.data_bytes),
            ]
            metrics["input_bytes"] = float(stored_files.length_bytes)
        return ValidationResult(tuple(checks), metrics)


WORKLOADS = (WordCount(),)
