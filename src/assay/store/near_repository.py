"""Find a repository near a folder that holds none, for the hint of an error."""

from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from shlex import quote

from assay.store.bundles.folders import MARKER

_FOLDERS_SEARCHED = 500
"""Maximum number of folders that are searched for a repository near a wrong path."""


_DEFAULT = "`assay demo`, `assay run PLAN` and `assay import FILES` make one; --repository DIR names another"


def where_is_one(root: Path) -> str:
    """Return a hint at a repository in the folder, or at one with a similar name next to it, or else at the commands
    that make one. An empty folder can become one.
    """
    try:
        empty = root.is_dir() and not any(root.iterdir())
        folders = [folder for folder in (root, root.parent) if folder.is_dir()]
        around = [path for folder in folders for path in islice(folder.iterdir(), _FOLDERS_SEARCHED)]
        near = {str(path): path for path in (*around, root.parent) if (path / MARKER).is_file()}
    except OSError:
        return _DEFAULT
    inside = [name for name, path in near.items() if path.parent == root]
    if empty and root.parent not in near.values():
        return f"it is an empty folder; `assay import FILES --repository {quote(str(root))}` fills it"
    similar = get_close_matches(root.name, [path.name for path in near.values()], n=1)
    names = inside or [name for name, path in near.items() if path == root.parent or path.name in similar]
    return f"did you mean --repository {quote(names[0])}?" if names else _DEFAULT
