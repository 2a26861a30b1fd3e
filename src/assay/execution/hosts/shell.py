"""Build the shell commands that assay runs on nodes: small POSIX scripts that get arguments as ``"$@"``, not as text.

In: argument vectors, environment, paths. Out: argument vectors that start with ``sh``. Each command first writes its
process id to stderr, after a random token, so that its process group can be killed; :func:`split_pid` removes it.
sshd (do_exec_no_pty in OpenSSH's session.c) and the local transport both make the command a session leader, so its
pid is also its process group.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")

# $1: process group. Sends SIGTERM and waits at most 2 s, then SIGKILL and waits at most 5 s. Status 1: it still exists.
_KILL = """
gone() { n=$1; shift; while [ "$n" -gt 0 ]; do kill -s 0 -- "-$1" 2>/dev/null || return 0; sleep 0.05; n=$((n-1)); done
return 1; }
kill -s TERM -- "-$1" 2>/dev/null || exit 0
gone 40 "$1" && exit 0
kill -s KILL -- "-$1" 2>/dev/null
gone 100 "$1"
"""

# $1: log, $2: pid file, then the command. A background job of a shell without job control leads no process group, so
# setsid does not fork and $! stays the daemon's pid.
_SPAWN = """
log=$1 pid_file=$2; shift 2
mkdir -p -- "$(dirname -- "$log")" "$(dirname -- "$pid_file")" || exit 1
command -v -- "$1" >/dev/null || { printf '%s: not found\\n' "$1" >&2; exit 127; }
setsid "$@" </dev/null >>"$log" 2>&1 &
printf '%s\\n' "$!" >"$pid_file" && printf '%s\\n' "$!"
"""

# $1: path, $2: mode. The new file is renamed into place, so a full disk or a lost connection leaves the old one.
_WRITE = """
mkdir -p -- "$(dirname -- "$1")" || exit 1
new="$1.assay-$$"
umask 077
if cat >"$new" && chmod "$2" "$new" && mv -f -- "$new" "$1"; then exit 0; fi
rm -f -- "$new"; exit 1
"""

_PUT = 'mkdir -p -- "$1" && exec tar -C "$1" --no-same-owner -xpf -'


def kill_command(pid: int) -> list[str]:
    """Return the command that ends process group ``pid``; its status is 0 when all processes have ended."""
    return ["sh", "-c", _KILL, "sh", str(pid)]


def spawn_command(argv: Sequence[str], log: str, pid_file: str) -> list[str]:
    """Return the command that starts ``argv`` as a daemon and prints its pid."""
    return ["sh", "-c", _SPAWN, "sh", log, pid_file, *argv]


def write_command(path: str, mode: int) -> list[str]:
    """Return the command that writes its stdin to ``path``."""
    return ["sh", "-c", _WRITE, "sh", path, f"{mode:o}"]


def put_command(remote: str) -> list[str]:
    """Return the command that unpacks a tar archive from its stdin into ``remote``."""
    return ["sh", "-c", _PUT, "sh", remote]


def wrap(argv: Sequence[str], token: str, env: Mapping[str, str] | None, cwd: str | None) -> list[str]:
    """Return ``argv`` as a command that writes its pid after ``token`` to stderr, then becomes the program.

    Raises ValueError for an empty vector, NUL bytes, and invalid names of environment variables.
    """
    if not argv or not argv[0]:
        raise ValueError("the command is empty")
    lines = [f'printf "%s %s\\n" {token} "$$" >&2']
    if cwd is not None:
        lines.append(f"cd -- {shlex.quote(cwd)} || exit 126")
    for name, value in (env or {}).items():
        if not _NAME.match(name):
            raise ValueError(f"{name!r} is not a name of an environment variable")
        lines.append(f"export {name}={shlex.quote(value)}")
    lines.append('exec "$@"')
    command = ["sh", "-c", "\n".join(lines), "sh", *argv]
    if any("\0" in word for word in command):
        raise ValueError("an argument contains a NUL byte")
    return command


def split_pid(stderr: bytes, token: str) -> tuple[int | None, bytes]:
    """Return the pid after ``token``, None when it has not arrived, and stderr without that line."""
    match = re.search(rb"%s (\d+)\n" % token.encode(), stderr)
    if match is None:
        return None, stderr
    return int(match[1]), stderr[: match.start()] + stderr[match.end() :]


def describe(argv: Sequence[str]) -> str:
    """Return a command as one short line for an error's ``where``."""
    text = " ".join(shlex.quote(word) if len(word) <= 60 and "\n" not in word else "…" for word in argv)
    return text if len(text) <= 160 else f"{text[:159]}…"
