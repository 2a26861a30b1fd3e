"""Find the runs of a repository that have a trace, from file names and, in imports, the column of run ids.

In: a folder of bundles. Out: ids of runs.
"""

from pathlib import Path

from assay.store.bundles.bundle import TRACE_FILE, is_import
from assay.store.index.index import bundle_names
from assay.store.index.tables import Reading


def traced_runs(bundles: Path, reading: Reading) -> set[str]:
    """Return the ids of the runs that have a trace."""
    run_ids, imports = set(), []
    for name in bundle_names(bundles):
        if (bundles / name / TRACE_FILE).exists() and is_import(bundles / name):
            imports.append(bundles / name / TRACE_FILE)
        elif (bundles / name / "trace").is_dir():
            run_ids.add(name)
    if imports:
        with reading() as opened:
            for path in imports:
                rows = opened.execute("SELECT DISTINCT run_id FROM read_parquet(?)", [str(path.absolute())]).fetchall()
                run_ids |= {str(run_id) for (run_id,) in rows}
    return run_ids
