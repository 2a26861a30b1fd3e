"""Record the code of DataNodes and NodeManagers that already run, while a job runs.

The JDK's program ``jcmd`` loads async-profiler into the running JVM before the job and stops it after the job, so that
the daemons need no restart and no option. In: a daemon's node and pid file. Out: a recording in the job's folder.
"""

from dataclasses import dataclass

from assay.analysis.code_profile.files import RECORDED, daemon_recording
from assay.execution.engines.hadoop.profiling.methods import ProfilingMethod
from assay.execution.hosts.transport import Transport
from assay.foundation.errors import HostError

_TIMEOUT_S = 60.0
"""Maximum time of each command to a daemon's JVM, in seconds."""
_MESSAGE_MAX = 300
"""Maximum length of a message in a reason, in characters."""
# $1: pid file, $2: jcmd, $3: the library, $4: async-profiler's command. jcmd ends with 0 even if the library refuses
# the command; its last line has the library's return code.
_LOAD = r"""
pid=$(cat "$1") || exit 1
answer=$("$2" "$pid" JVMTI.agent_load "$3" "\"$4\"" 2>&1)
[ $? = 0 ] && [ "${answer##*return code: }" = 0 ] || { echo "$answer"; exit 1; }
"""


@dataclass(frozen=True, slots=True)
class DaemonJvm:
    """A running daemon."""

    node: str
    name: str
    pid_file: str

    @property
    def recording(self) -> str:
        """The name of its recording."""
        return daemon_recording(self.name, self.node)


async def start_on(
    host: Transport, jvm: DaemonJvm, java: str, library: str, method: ProfilingMethod, folder: str
) -> str | None:
    """Start recording a daemon into ``folder``. Return why it can't be recorded; None if it is.

    A recording that an interrupted run left is stopped first.
    """
    start_command = method.start_command(f"{folder}/{jvm.recording}{RECORDED}")
    if await _load(host, jvm, java, library, start_command) is None:
        return None
    await stop_on(host, jvm, java, library)
    return await _load(host, jvm, java, library, start_command)


async def stop_on(host: Transport, jvm: DaemonJvm, java: str, library: str) -> None:
    """Stop recording a daemon, which writes its recording. A daemon that died leaves no readable recording."""
    await _load(host, jvm, java, library, "stop")


async def _load(host: Transport, jvm: DaemonJvm, java: str, library: str, command: str) -> str | None:
    jcmd = f"{java.removesuffix('java')}jcmd"
    arguments = [jvm.pid_file, jcmd, library, command]
    try:
        result = await host.run(["sh", "-c", _LOAD, "sh", *arguments], timeout_s=_TIMEOUT_S, check=False)
    except HostError as error:
        return f"the {jvm.name} is not profiled: {error}"
    if result.exit_status == 0:
        return None
    message = " ".join((result.stdout + result.stderr).decode(errors="replace").split())[:_MESSAGE_MAX]
    return f"the {jvm.name} on {jvm.node} is not profiled: {message}"
