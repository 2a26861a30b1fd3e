"""Write the downloads of a site: runs as CSV and Parquet, decisions as JSON, and a package that `assay pull` reads.

In: runs without private fields. Out: the content of each file.
"""

import io
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.model import ImportedRun, Run
from assay.store import Repository
from assay.store.exchange.exchange import write_csv, write_json_lines, write_parquet
from assay.store.exchange.package import write_package


def csv_bytes(runs: Sequence[Run]) -> bytes:
    """Return the runs as CSV."""
    text = io.StringIO(newline="")
    write_csv(runs, text)
    return text.getvalue().encode()


def parquet_bytes(runs: Sequence[Run]) -> bytes:
    """Return the runs as Parquet."""
    with tempfile.TemporaryDirectory(prefix="assay-publish-") as folder:
        path = Path(folder, "runs.parquet")
        write_parquet(runs, path)
        return path.read_bytes()


def json_bytes(values: Any) -> bytes:
    """Return values as indented JSON, as commands print them."""
    return (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()


def package_bytes(runs: Sequence[Run], items: Callable[[], Iterator[ImportedRun]]) -> bytes:
    """Return a package with the runs as one import. ``items``: the same runs with their task attempts and traces."""
    with tempfile.TemporaryDirectory(prefix="assay-publish-") as folder:
        lines, archive = Path(folder, "runs.jsonl"), Path(folder, "runs.tar.gz")
        with lines.open("w", encoding="utf-8") as file:
            write_json_lines(runs, file)
        repository = Repository.create(Path(folder, "repository"))
        summary = repository.import_runs("assay", items, [(lines.name, lines)])
        write_package(archive, repository, [summary.import_id] if summary.import_id else [], {})
        return archive.read_bytes()
