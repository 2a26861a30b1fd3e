"""Find the runs of a repository that have a trace or task attempts, from file names and the run ids of imports.

In: a folder of bundles. Out: ids of runs, and whether all runs were imported.
"""

from pathlib import Path

from assay.store.bundles.bundle import TASKS_FILE, TRACE_FILE, is_import
from assay.store.index.index import bundle_names
from assay.store.index.tables import ConnectionFactory


def traced_runs(bundles: Path, connect: ConnectionFactory, *, or_tasks: bool = False) -> set[str]:
    """Return the ids of the runs that have a trace; with ``or_tasks``, a trace or task attempts."""
    run_ids, imports = set(), []
    for name in bundle_names(bundles):
        bundle = bundles / name
        files = [bundle / file for file in (TRACE_FILE, *([TASKS_FILE] if or_tasks else ()))]
        existing_files = [path for path in files if path.exists()]
        if existing_files and is_import(bundle):
            imports += existing_files
        elif existing_files or (bundle / "trace").is_dir():
            run_ids.add(name)
    if imports:
        with connect() as database:
            for path in imports:
                rows = database.execute(
                    "SELECT DISTINCT run_id FROM read_parquet(?)", [str(path.absolute())]
                ).fetchall()
                run_ids |= {str(run_id) for (run_id,) in rows}
    return run_ids


def has_only_imports(bundles: Path) -> bool:
    """Return whether all runs of a repository were imported."""
    return all(is_import(bundles / name) for name in bundle_names(bundles))
