"""Run a command, and print its start and end by this host's monotonic clock.

In, as arguments: a token, then the command. Out: the command's output and status, and on stderr a line with the token
and both times in seconds. The command gets the environment and signal handling that it would get without this script,
not Python's.
"""

import os
import resource
import signal
import sys
import time

NOT_EXECUTABLE, NOT_FOUND = 126, 127  # the same as in sh


def environment() -> "dict[bytes, bytes]":
    """Return the environment with which this process was started, without the LC_CTYPE that Python may add (PEP
    538)."""
    with open("/proc/self/environ", "rb") as file:
        pairs = [pair.partition(b"=") for pair in file.read().split(b"\0")]
    return {name: value for name, _, value in pairs if name}


def become(command: "list[str]") -> None:
    """Replace this process by the command."""
    for signal_number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(signal_number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment())  # noqa: S606 - the command is what this script is for
    except OSError as error:
        sys.stderr.write("%s: %s\n" % (command[0], error.strerror))
        sys.stderr.flush()
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)


def main() -> None:
    """Run the command, print the times, and end with its exit status or signal."""
    token, command = sys.argv[1], sys.argv[2:]
    started_s = time.monotonic()
    pid = os.fork()
    if pid == 0:
        become(command)
    _, status = os.waitpid(pid, 0)
    ended_s = time.monotonic()
    sys.stderr.write("%s %.6f %.6f\n" % (token, started_s, ended_s))
    sys.stderr.flush()
    if os.WIFSIGNALED(status):
        signal_number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if signal_number != signal.SIGKILL:
            signal.signal(signal_number, signal.SIG_DFL)
        os.kill(os.getpid(), signal_number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
