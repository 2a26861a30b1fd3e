"""Find a repository near a folder that is not a repository, for the hint of an error."""

from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from shlex import quote

from assay.store.bundles.folders import MARKER

_FOLDERS_SEARCHED = 500
"""Maximum number of folders that are searched for a repository near a wrong path."""
_DEFAULT = "`assay demo`, `assay run PLAN` and `assay import FILES` make one; --repository DIR names another"


def repository_hint(root: Path) -> str:
    """Return a hint for a folder that holds no repository.

    It names a repository in the folder, in its parent, or with a similar name next to the folder. Without one, it names
    the commands that create a repository. For an empty folder, it names the command that fills it.
    """
    try:
        is_empty = root.is_dir() and not any(root.iterdir())
        folders = [folder for folder in (root, root.parent) if folder.is_dir()]
        paths = [path for folder in folders for path in islice(folder.iterdir(), _FOLDERS_SEARCHED)]
        repositories = {str(path): path for path in (*paths, root.parent) if (path / MARKER).is_file()}
    except OSError:
        return _DEFAULT
    names_inside = [name for name, path in repositories.items() if path.parent == root]
    if is_empty and root.parent not in repositories.values():
        return f"it is an empty folder; `assay import FILES --repository {quote(str(root))}` fills it"
    similar_names = get_close_matches(root.name, [path.name for path in repositories.values()], n=1)
    names = names_inside or [
        name for name, path in repositories.items() if path == root.parent or path.name in similar_names
    ]
    return f"did you mean --repository {quote(names[0])}?" if names else _DEFAULT
