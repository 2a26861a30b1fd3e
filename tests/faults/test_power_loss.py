"""Test a power loss during publishing, import, attaching a profile and index writes: each is complete or absent."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from assay.store import Repository
from assay.store.bundles.bundle import check_bundle
from assay.store.exchange.attached_profiles import PROFILE_FILE
from effort import examples
from paths import SUPPORT
from power_loss import record_operations, states, write_state

pytestmark = pytest.mark.slow

PRELUDE = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from builders import make_run, make_trace
from assay.model.runs.imported import ImportedRun
from assay.store import Repository
import assay.store.repository as module
repository = Repository.open(Path(sys.argv[1]))
"""
PUBLISH = "repository.publish(make_run(1), trace=make_trace(make_run(1)), logs={'client.log': b'words' * 100})"
IMPORT = """
Path(sys.argv[1]).parent.joinpath('x.csv').write_text('x')
imported = ImportedRun('k', 'x:1', make_run(2), (), make_trace(make_run(2)))
repository.import_runs('any', lambda: iter([imported]), [('x.csv', Path(sys.argv[1]).parent / 'x.csv')])
"""
ATTACH = """
repository.publish(make_run(1))
Path(sys.argv[1]).parent.joinpath('x.collapsed').write_text('a;b 1\\n' * 100)
from assay.questions.runs.code_profiles.profile_import import ProfileImportRequest, import_profile
files = [Path(sys.argv[1]).parent / 'x.collapsed']
import_profile(repository, files, ProfileImportRequest(make_run(1).run_id))
"""
INDEX = "repository.publish(make_run(1)); repository.publish(make_run(2)); assert len(repository.runs()) == 2"
UNSYNCED = "module.sync_tree = lambda folder: None; "


def states_and_defects(code: str, folder: Path) -> tuple[int, list[str]]:
    """Return how many states of a repository after a power loss were read, and the defects of each."""
    if shutil.which("strace") is None:
        pytest.skip("writes are recorded by strace, which is not installed")
    root, before = folder / "repository", folder / "before"
    Repository.create(root)
    shutil.copytree(root, before)
    operations = record_operations([sys.executable, "-c", PRELUDE + code, str(root)], root, folder / "strace")
    assert any(operation.kind == "rename" and "/bundles/" in operation.other for operation in operations)
    bundles = {path.name: len(list(path.rglob("*"))) for path in (root / "bundles").iterdir()}
    defects, state_count, known = [], 0, set()
    for number, written_operations in enumerate(states(operations, draws=2, seed=1)):
        state = folder / f"state-{number}"
        write_state(written_operations, before, root, state)
        state_count += 1
        counts = {path.name: len(list(path.rglob("*"))) for path in (state / "bundles").iterdir()}
        if any(bundles.get(name) != count for name, count in counts.items()):
            defects.append(f"{number}: {counts}")
        defects += [
            f"{number}: {operation.detail}" for name in counts for operation in check_bundle(state / "bundles" / name)
        ]
        # A query makes or repairs the index: its answer is in the bundles, whatever the index files contain.
        index = tuple(sorted((path.name, path.stat().st_size) for path in (state / "index").rglob("*.parquet")))
        if (key := (tuple(sorted(counts)), index)) not in known:
            known.add(key)
            runs = Repository.open(state).runs(environment=False)
            profiles = sum((state / "bundles" / name / PROFILE_FILE).exists() for name in counts)
            if not defects and len(runs) != len(counts) - profiles:
                defects.append(f"{number}: {len(runs)} runs in {len(counts)} bundles, {profiles} of them profiles")
        shutil.rmtree(state)
    return state_count, defects


@pytest.mark.parametrize("code", [PUBLISH, IMPORT, ATTACH, INDEX], ids=["publish", "import", "attach", "index"])
def test_after_a_power_loss_a_bundle_is_complete_or_absent(code: str, tmp_path: Path) -> None:
    state_count, defects = states_and_defects(code, tmp_path)
    print(f"{state_count} states after a power loss")
    assert state_count > examples(100)
    assert defects == []


def test_a_writer_without_sync_is_detected(tmp_path: Path) -> None:
    _, defects = states_and_defects(UNSYNCED + PUBLISH, tmp_path)
    assert defects
