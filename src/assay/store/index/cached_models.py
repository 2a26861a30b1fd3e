"""Cache a model learned from the runs, as one file of the repository. It is derived like the index."""

import contextlib

from assay.store.bundles.folders import Folders
from assay.store.bundles.staging import staging


def cached_model(folders: Folders, name: str) -> bytes | None:
    """Return the model that :func:`cache_model` stored under ``name``; None if absent."""
    try:
        return (folders.models / name).read_bytes()
    except OSError:
        return None


def cache_model(folders: Folders, name: str, content: bytes) -> None:
    """Store a model and remove earlier models. A read-only repository stores nothing."""
    with contextlib.suppress(OSError):
        folders.models.mkdir(parents=True, exist_ok=True)
        with staging(folders.partial, "model") as folder:
            (folder / name).write_bytes(content)
            (folder / name).rename(folders.models / name)
        for path in folders.models.iterdir():
            if path.name != name:
                path.unlink()
