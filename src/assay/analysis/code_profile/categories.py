"""Assign stacks to categories that an operator knows, by a table of rules.

A stack with a frame of :data:`WHOLE_STACK` belongs to that category, wherever the frame is: reading a jar during class
loading is class loading, not decompression. Otherwise the frames are tried from the executing method towards the root,
each against :data:`RULES` in order; the first match decides. Frame names are those of async-profiler's converter:
``package/Class.method`` of Java, symbols of native and kernel code.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from assay.analysis.code_profile.stacks import Stack

OTHER = "JVM and kernel, other"
"""The category of stacks without a match."""
WHOLE_STACK = (
    (
        "GC",
        r"VM_(Gen|Serial|G1|Parallel|Z|Shenandoah)?Collect|GenCollectedHeap|SerialHeap::collect|G1\w*Task|GangWorker",
    ),
    ("JIT", r"CompileBroker::|C1_|Compiler::compile|C2Compiler|Compilation::"),
    ("class loading", r"java/lang/ClassLoader\.|java/net/URLClassLoader|jdk/internal/loader/|SystemDictionary::"),
    ("class loading", r"ClassFileParser::|InstanceKlass::(link|initialize)|java/lang/Class\.forName|java/lang/invoke/"),
    ("JVM start", r"JNI_CreateJavaVM|Threads::create_vm|InitializeJVM"),
)
"""Category and regular expression of the frames that decide at any position in a stack."""
RULES = (
    ("checksum", r"updateBytesCRC32|java/util/zip/(CRC32|Checksum|Adler)|org/apache/hadoop/util/(DataChecksum|\w*Crc)"),
    ("checksum", r"org/apache/hadoop/mapred/IFile(In|Out)putStream|org/apache/hadoop/fs/FS(OutputSummer|InputChecker)"),
    (
        "compression",
        r"org/apache/(hadoop/io/compress|spark/io/\w*Compress)|java/util/zip/(In|De)flater|libz\.|inflate"
        r"|(com/github/luben/|org/xerial/|net/jpountz/|\S*/)?\S*(snappy|Snappy|zstd|ZSTD|lz4|LZ4)",
    ),
    ("sort", r"org/apache/hadoop/util/(QuickSort|HeapSort|MergeSort|PriorityQueue)|org/apache/hadoop/mapred/Merger"),
    ("sort", r"org/apache/hadoop/mapred/MapTask\$MapOutputBuffer\.(compare|swap|sort)"),
    ("sort", r"[\w/$]*Comparator\.compare|org/apache/hadoop/io/FastByteComparisons"),
    ("sort", r"org/apache/spark/(util/collection/(\w*Sort|unsafe/sort)|shuffle/sort/\w*Sorter)|[\w/]*TimSort"),
    ("shuffle copy", r"org/apache/hadoop/mapreduce/task/reduce/"),
    ("shuffle copy", r"org/apache/spark/(network/|storage/(\w*Fetch|BlockManager\.getRemote))|io/netty/"),
    ("HDFS server", r"org/apache/hadoop/hdfs/(server|qjournal)/"),
    ("HDFS client", r"org/apache/hadoop/hdfs/|org/apache/hadoop/fs/"),
    (
        "serialisation",
        r"org/apache/hadoop/io/(serializer/|Writable|Text|\w+Writable|Data(In|Out)put)|java/io/Data(In|Out)put",
    ),
    ("serialisation", r"org/apache/spark/serializer/|com/esotericsoftware/|java/io/Object(In|Out)putStream"),
    ("lock", r"ObjectMonitor::|ObjectSynchronizer::|java/util/concurrent/locks/ReentrantLock"),
    (
        "idle or I/O wait",
        r"java/lang/Object\.wait|java/lang/Thread\.sleep|jdk/internal/misc/Unsafe\.park|\w*epoll_?wait",
    ),
    ("user code", r"org/apache/(hadoop/(examples|mapreduce/lib)|spark/(examples|mllib|ml|graphx))/"),
    ("Hadoop framework", r"org/apache/hadoop/"),
    ("Spark framework", r"org/apache/spark/|org/sparkproject/"),
    ("user code", r"(?!java/|javax/|jdk/|sun/|com/sun/|org/apache/|scala/)[a-z]\w*(/[\w$]+)+\."),
)
"""Category and regular expression of a frame, most specific first."""
_STACK_PATTERNS = tuple((category, re.compile(pattern)) for category, pattern in WHOLE_STACK)
_FRAME_PATTERNS = tuple((category, re.compile(pattern)) for category, pattern in RULES)
_COMPILATION_MARK = re.compile(r"_\[[a-z0-9]\]$")


def plain_frame(frame: str) -> str:
    """Return a frame without the converter's mark of how the method was compiled, ``_[j]`` or ``_[1]``."""
    return _COMPILATION_MARK.sub("", frame)


def category_of(stack: Stack) -> str:
    """Return the category of a stack."""
    category = next((name for name in map(_stack_category, stack) if name), None)
    return category or next((name for name in map(_frame_category, reversed(stack)) if name), OTHER)


@lru_cache(maxsize=100_000)
def _stack_category(frame: str) -> str | None:
    return next((category for category, pattern in _STACK_PATTERNS if pattern.match(frame)), None)


@lru_cache(maxsize=100_000)
def _frame_category(frame: str) -> str | None:
    return next((category for category, pattern in _FRAME_PATTERNS if pattern.match(frame)), None)


def categories() -> Iterator[str]:
    """Yield every category once, in the order of the rules."""
    yield from dict.fromkeys(category for category, _ in (*WHOLE_STACK, *RULES))
    yield OTHER
