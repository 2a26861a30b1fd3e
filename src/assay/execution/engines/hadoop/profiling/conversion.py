"""Convert a JFR recording on this machine, with async-profiler's converter.

In: a recording of async-profiler or of the JDK's Flight Recorder, and the kind of profile. Out: its stacks with the
times of their samples, or for ``alloc`` and ``lock`` the stacks of a part of its time.
"""

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.analysis.code_profile.seconds import StackSamples
from assay.analysis.code_profile.stacks import Stack, parse_collapsed
from assay.execution.engines.hadoop.profiling import agent
from assay.execution.engines.hadoop.profiling.parts import PartSpan
from assay.foundation.errors import EngineError, FormatError
from assay.store.formats.profiles.otlp import timed_stacks

_TIMEOUT_S = 900
"""Maximum time for converting one recording, in seconds."""
_NS_PER_MS = 1e6
_INTERVAL = re.compile(r'"name": "(interval|wall)",\s+"value": "([1-9][0-9]*)"')
"""A setting of async-profiler in the output of the JDK's program jfr, in nanoseconds."""
_MESSAGE = re.compile(r"Exception[^:\n]*: (?P<message>[^\n]+)")
_CUT_HINT = (
    "it is cut off if its JVM was killed; `jcmd PID JFR.dump` writes a complete recording, and `jfr summary FILE` "
    "checks one"
)


@dataclass(frozen=True, slots=True)
class JfrConverter:
    """The converter's jar, and the program java."""

    java: str
    jar: Path

    def timed_samples(self, recording: Path, kind: str) -> list[StackSamples]:
        """Return the samples of ``cpu`` or ``wall``. Raises FormatError if the recording is damaged.

        ``--cpu`` selects async-profiler's samples of running threads; Flight Recorder's have no such state.
        """
        samples = timed_stacks(self._convert(recording, [f"--{kind}", "-o", "otlp"]))
        if not samples and kind == "cpu":
            samples = timed_stacks(self._convert(recording, ["-o", "otlp"]))
        return samples

    def total(self, recording: Path, kind: str, span: PartSpan) -> Counter[Stack]:
        """Return the bytes of ``alloc`` or the nanoseconds of ``lock`` of a part of the recording's time."""
        limits = [*(["--from", span.from_ms] if span.from_ms else []), *(["--to", span.to_ms] if span.to_ms else [])]
        content = self._convert(recording, [f"--{kind}", "--total", *limits, "-o", "collapsed"])
        return parse_collapsed(content.decode(errors="replace"))[0]

    def interval_ms(self, recording: Path, kind: str) -> float | None:
        """Return async-profiler's sampling interval in milliseconds; None if it can't be read.

        It is read with the JDK's program jfr. Flight Recorder's interval is not read,
        because Flight Recorder does not sample at exactly this interval.
        """
        program = shutil.which("jfr")
        if program is None:
            return None
        command = [program, "print", "--json", "--events", "jdk.ActiveSetting", str(recording)]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return None
        settings = {name: int(value) for name, value in _INTERVAL.findall(result.stdout)}
        interval_ns = settings.get("wall") if kind == "wall" and "wall" in settings else settings.get("interval")
        return interval_ns / _NS_PER_MS if interval_ns else None

    def _convert(self, recording: Path, options: Sequence[str]) -> bytes:
        with tempfile.TemporaryDirectory(prefix="assay-jfr-") as folder:
            target = Path(folder) / "converted"
            command = [self.java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(self.jar), *options]
            try:
                result = subprocess.run(
                    [*command, str(recording), str(target)], capture_output=True, timeout=_TIMEOUT_S, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise FormatError(f"its conversion took more than {_TIMEOUT_S} s", hint="split it") from error
            if result.returncode == 0 and target.is_file():
                return target.read_bytes()
        match = _MESSAGE.search(result.stderr.decode(errors="replace"))
        reason = f": {match['message']}" if match else ""
        raise FormatError(f"it is not a complete JFR recording{reason}", hint=_CUT_HINT)


def require_converter(progress: Callable[[str], None]) -> JfrConverter:
    """Return the converter; it is fetched first if it is missing. Raises EngineError without it or without Java."""
    java = shutil.which("java")
    if java is None:
        raise EngineError(
            "reading a JFR recording needs Java, and there is no java on the PATH",
            hint="install Java, or convert the recording to collapsed stacks where Java is",
        )
    return JfrConverter(java, agent.require(progress) / agent.CONVERTER)
