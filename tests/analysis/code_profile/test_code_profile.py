"""Test collapsed stacks, the table of categories, and summaries, on stacks that a TeraSort on Hadoop 3.4.2 recorded."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.code_profile.categories import OTHER, categories, category_of, plain_frame
from assay.analysis.code_profile.files import NO_STAGE, recording_and_part, stacks_file, stage_part, stages_of
from assay.analysis.code_profile.stacks import collapsed_text, parse_collapsed
from assay.analysis.code_profile.summary import category_counts, frame_counts

RECORDED = Path(__file__).parents[2] / "data" / "profiles" / "terasort-merge.collapsed.gz"
"""The merge phase of one reduce, recorded with async-profiler."""
FRAME = st.text(st.characters(codec="utf-8", exclude_characters=";\n"), min_size=1)
EXECUTOR = "org/apache/spark/executor/Executor$TaskRunner.run_[0]"
CHILD = "org/apache/hadoop/mapred/YarnChild.main_[0]"


@given(st.dictionaries(st.lists(FRAME, min_size=1).map(tuple), st.integers(0, 2**63), max_size=20))
def test_stacks_survive_writing_and_parsing(stacks: dict[tuple[str, ...], int]) -> None:
    assert parse_collapsed(collapsed_text(stacks)) == (Counter(stacks), 0)


@given(st.text())
def test_any_text_is_parsed_and_every_line_is_counted_or_skipped(text: str) -> None:
    stacks, skipped = parse_collapsed(text)
    assert 0 <= skipped <= text.count("\n") + 1
    assert all(count >= 0 for count in stacks.values())


@pytest.mark.parametrize(
    ("stack", "category"),
    [
        (
            (CHILD, "org/apache/hadoop/util/QuickSort.sort_[1]", "org/apache/hadoop/io/Text$Comparator.compare_[1]"),
            "sort",
        ),
        ((CHILD, "java/util/zip/CRC32.update_[1]", "updateBytesCRC32"), "checksum"),
        ((CHILD, "org/apache/hadoop/io/compress/SnappyCodec.createOutputStream_[1]", "memcpy"), "compression"),
        ((CHILD, "java/lang/ClassLoader.loadClass_[0]", "java/util/zip/Inflater.inflate_[0]"), "class loading"),
        (("start_thread", "CompileBroker::compiler_thread_loop", "LinearScan::allocate_registers"), "JIT"),
        (("start_thread", "VM_GenCollectForAllocation::doit", "ContiguousSpace::prepare_for_compaction"), "GC"),
        (
            (CHILD, "org/apache/hadoop/mapreduce/task/reduce/Fetcher.run_[0]", "read", "do_syscall_64_[k]"),
            "shuffle copy",
        ),
        ((CHILD, "org/apache/hadoop/hdfs/server/datanode/BlockSender.sendPacket_[1]", "__GI_write"), "HDFS server"),
        ((CHILD, "org/apache/hadoop/hdfs/DFSInputStream.read_[1]", "copy_to_iter_[k]"), "HDFS client"),
        ((CHILD, "org/apache/hadoop/io/WritableUtils.readVLong_[1]"), "serialisation"),
        ((CHILD, "ObjectMonitor::enter"), "lock"),
        ((CHILD, "java/lang/Object.wait_[0]", "futex_wait_[k]"), "idle or I/O wait"),
        ((CHILD, "com/example/shop/JoinMapper.map_[1]", "java/util/HashMap.get_[1]"), "user code"),
        ((CHILD, "java/util/HashMap.get_[1]"), "Hadoop framework"),
        (
            (EXECUTOR, "org/apache/spark/util/collection/ExternalSorter.insertAll_[0]", "java/util/Arrays.fill_[1]"),
            "sort",
        ),
        (
            (EXECUTOR, "scala/collection/Iterator.foreach_[1]", "org/apache/spark/util/collection/TimSort.sort_[1]"),
            "sort",
        ),
        ((EXECUTOR, "org/apache/spark/serializer/KryoSerializer.write_[1]", "java/lang/Math.max_[1]"), "serialisation"),
        ((EXECUTOR, "org/apache/spark/storage/ShuffleBlockFetcherIterator.next_[1]"), "shuffle copy"),
        ((EXECUTOR, "com/github/luben/zstd/ZstdOutputStream.write_[1]", "ZSTD_compressStream"), "compression"),
        ((EXECUTOR, "scala/collection/Iterator.foreach_[1]"), "Spark framework"),
        (("unknown_function",), OTHER),
    ],
)
def test_a_stack_belongs_to_the_category_that_decides_it(stack: tuple[str, ...], category: str) -> None:
    assert category_of(stack) == category
    assert category in set(categories())


def test_a_recorded_profile_has_a_category_for_nearly_every_sample() -> None:
    stacks, skipped = parse_collapsed(gzip.decompress(RECORDED.read_bytes()).decode())
    assert (stacks.total(), skipped) == (65, 0)
    counted = {row.category: row.count for row in category_counts(stacks)}
    assert sum(counted.values()) == stacks.total()
    assert counted[OTHER] <= 0.05 * stacks.total()
    frames = frame_counts(stacks)
    assert sum(row.count for row in frames) == stacks.total()
    assert [row.count for row in frames] == sorted((row.count for row in frames), reverse=True)
    assert frames[0].frame == plain_frame(frames[0].frame)


@given(st.sets(st.integers(0, 10**4), min_size=1, max_size=4), st.text("abc_.-0", min_size=1))
def test_a_file_name_keeps_recording_and_stages(stages: set[int], recording: str) -> None:
    part = stage_part(stages)
    assert stages_of(part) == stages
    assert recording_and_part(stacks_file(recording, part)) == (recording, part)


def test_files_and_parts_without_profile_data_are_ignored() -> None:
    assert stage_part(()) == NO_STAGE
    assert stages_of(NO_STAGE) == stages_of("map") == stages_of("stage-") == frozenset()
    assert recording_and_part("profiles/driver.jfr") is None
    assert recording_and_part("job.log") is None
