"""Check whether daemons can start on this node: create and test folders, read memory and clock, change nothing else.

In, as JSON in argv[1]: ``folders``: the folders in which daemons write; ``room_bytes``: free space that each needs;
``own``: folders that must belong to the user, because daemons set their mode; ``metadata``: HDFS's directories on this
node, including the NameNode's. Out: a JSON object with ``problems`` (a list of [message, what to do]), ``memory_bytes``
and ``available_bytes`` of memory, ``unix_s``, and ``clusters`` (each directory in ``metadata`` that contains an HDFS,
to its id). Source of VERSION: Hadoop's HdfsUserGuide and hdfs/server/common/Storage.java.
"""

import errno
import json
import os
import pwd
import re
import sys
import time
from typing import Dict, List, Optional


def user_name(uid: int) -> str:
    """Return a user's name, or the number if there is no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def folder_problem(folder: str, room_bytes: int, must_be_owned: bool) -> Optional[List[str]]:
    """Return why a folder can't be used and what to do; None if it can be used."""
    user = user_name(os.geteuid())
    probe = os.path.join(folder, ".assay-%d" % os.getpid())
    try:
        os.makedirs(folder, exist_ok=True)
        with open(probe, "wb") as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return [folder + " has no room left", "free space on that device"]
        if error.errno in (errno.EACCES, errno.EPERM):
            return ["%s can't be written by %s" % (folder, user), "chown it to %s, or name another directory" % user]
        if error.errno == errno.EROFS:
            return [
                folder + " is mounted read-only",
                "read the kernel's log (dmesg), repair the file system, remount it",
            ]
        return ["%s can't be written: %s" % (folder, error.strerror), "repair it, or name another directory"]
    finally:
        try:
            os.unlink(probe)
        except OSError:
            pass
    space = os.statvfs(folder)
    free_bytes = space.f_bavail * space.f_frsize
    if free_bytes < room_bytes:
        message = "%s has %.0f MB free, but daemons need %.0f MB even without data" % (
            folder,
            free_bytes / 1e6,
            room_bytes / 1e6,
        )
        return [message, "free space on that device"]
    owner = os.stat(folder).st_uid
    if must_be_owned and os.geteuid() not in (0, owner):
        message = "%s belongs to %s, and a DataNode of %s sets its mode" % (folder, user_name(owner), user)
        return [message, "chown it to %s, or name another directory" % user]
    return None


def memory() -> Dict[str, int]:
    """Return the bytes of total and available memory."""
    with open("/proc/meminfo") as file:
        kib = dict(re.findall("^(\\w+): +([0-9]+)", file.read(), re.M))
    total_bytes = int(kib["MemTotal"]) * 1024
    # Kernels before 3.14 do not report available memory.
    available_bytes = int(kib["MemAvailable"]) * 1024 if "MemAvailable" in kib else total_bytes
    return {"memory_bytes": total_bytes, "available_bytes": available_bytes}


def cluster_in(directory: str) -> Optional[str]:
    """Return the id of the HDFS in a directory; None if it holds none."""
    try:
        with open(os.path.join(directory, "current", "VERSION")) as file:
            match = re.search("^clusterID=(\\S+)", file.read(), re.M)
        return match.group(1) if match else None
    except OSError:
        return None


def main() -> None:
    """Print the results."""
    options = json.loads(sys.argv[1])
    owned_folders = set(options["own"])
    results = [folder_problem(folder, options["room_bytes"], folder in owned_folders) for folder in options["folders"]]
    clusters = {directory: cluster_in(directory) for directory in options["metadata"]}
    answer = {
        "problems": [problem for problem in results if problem],
        "unix_s": time.time(),
        "clusters": {directory: name for directory, name in clusters.items() if name},
    }
    answer.update(memory())
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
