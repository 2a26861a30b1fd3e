"""Define the methods that record a profile in a JVM: async-profiler, and the JDK's Flight Recorder.

Out: for each kind of profile its methods, best first, with the option of a JVM that records from its start, and
async-profiler's commands for a running JVM.

``cpu`` uses a CPU timer of each thread (async-profiler's ``ctimer``). ``cpu+kernel`` uses perf_events, whose stacks
have the kernel's functions; reading the kernel's symbols costs each JVM 0.07 s of CPU time at its start.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.execution.engines.hadoop.profiling import agent

INTERVAL_MS = 10
"""Sampling interval of a thread, in milliseconds of CPU time, or of wall time for ``wall``."""


@dataclass(frozen=True, slots=True)
class ProfilingMethod:
    """One way to record a profile: its name, options of the converter, and how a JVM starts it."""

    name: str
    converter_options: tuple[str, ...]
    event: str = ""
    """The event of async-profiler with its interval; empty for Flight Recorder."""

    @property
    def has_times(self) -> bool:
        """Whether its samples are converted with their times: true for ``cpu`` and ``wall``."""
        return "--total" not in self.converter_options

    def option(self, library: str, file: str) -> str:
        """Return the option of a JVM that writes ``file``."""
        if not self.event:
            return f"-XX:StartFlightRecording=filename={file},settings=profile,dumponexit=true"
        return f"-agentpath:{library}={self.start_command(file)}"

    def start_command(self, file: str) -> str:
        """Return async-profiler's command that starts recording to ``file``."""
        return f"start,{self.event},jfr,file={file}"


def _async(event: str, converter_options: tuple[str, ...], name: str = "") -> ProfilingMethod:
    return ProfilingMethod(f"async-profiler {agent.VERSION}, {name or event}", converter_options, f"event={event}")


def _recorder(converter_options: tuple[str, ...]) -> ProfilingMethod:
    return ProfilingMethod("JDK Flight Recorder", converter_options)


_INTERVAL = f",interval={INTERVAL_MS}ms"
_CPU = (_async(f"ctimer{_INTERVAL}", ("--cpu",), "ctimer"), _recorder(()))
METHODS: Mapping[str, tuple[ProfilingMethod, ...]] = {
    "cpu": _CPU,
    "cpu+kernel": (_async(f"cpu{_INTERVAL}", ("--cpu",), "perf_events"), *_CPU),
    "wall": (_async(f"wall{_INTERVAL}", ("--wall",), "wall"),),
    "alloc": (_async("alloc", ("--alloc", "--total")), _recorder(("--alloc", "--total"))),
    "lock": (_async("lock", ("--lock", "--total")), _recorder(("--lock", "--total"))),
}
"""The methods of each kind, best first."""
