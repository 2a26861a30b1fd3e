"""Test that docs/reference/repository.md names every file and folder of a repository."""

from __future__ import annotations

import re
from pathlib import Path

from assay.execution.planning.expansion import expand
from assay.execution.planning.order import schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.interfaces.web.api.plan import write_plan
from assay.model.runs.imported import ImportedRun
from assay.model.runs.task_attempt import TaskAttempt
from assay.store import Repository
from assay.store.bundles.folders import Folders
from assay.store.campaigns.journal import create_campaign
from builders import make_run, make_trace
from paths import ROOT

TASK = TaskAttempt("job", "task", "attempt", "map", "w1", "succeeded", 1.0, 2.0, None, None, 1, 2, 3, 4, 5, 0.5, 0.1)
PAGE = (ROOT / "docs" / "reference" / "repository.md").read_text()
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]+(?=[/.\-]|$)|…")


def documented() -> list[re.Pattern[str]]:
    """Return what the page names, as patterns of paths."""
    (block,) = (text for text in re.findall(r"^```\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) if "bundles/" in text)
    documented_names, folder = [], ""
    for line in block.splitlines():
        named = re.match(r"( *)(\S+(?:, \S+)*)(?:  |$)", line)
        assert named, line
        names = [name for name in named[2].split(", ") if name != "..."]
        if not named[1]:
            folder = names[0] if names[0].endswith("/") else ""
        documented_names += [name if not named[1] else folder + name for name in names]
    return [
        re.compile("".join(_part(part) for part in re.split(f"({_PLACEHOLDER.pattern})", name)))
        for name in documented_names
    ]


def _part(text: str) -> str:
    return "[^/]+" if text != "SHA256SUMS" and _PLACEHOLDER.fullmatch(text) else re.escape(text)


def undocumented(root: Path) -> list[str]:
    """Return files of a repository that the page does not name."""
    patterns = documented()
    files = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    return [name for name in files if not any(pattern.fullmatch(name) for pattern in patterns)]


def test_all_that_is_written_is_named_on_the_page(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    run = make_run(1)
    repository.publish(run, tasks=[TASK], trace=make_trace(run), logs={"job.log": b"x"})
    (tmp_path / "x.csv").write_text("x")
    item = ImportedRun("k", "x:1", make_run(2), (TASK,), make_trace(run))
    repository.import_runs("any", lambda: iter([item]), [("x.csv", tmp_path / "x.csv")])
    plan = load_plan(ROOT / "examples" / "lab" / "hdd-vs-ssd.yaml")
    journal = create_campaign(repository.folders.campaigns, plan, len(schedule(plan, expand(plan))))
    with journal.hold():
        journal.write("start")
        journal.set_step("map 4 %")
        assert undocumented(repository.root) == []
    write_plan(repository.folders.plans / "0123", plan)
    assert len(repository.table()) == 2
    assert undocumented(repository.root) == []
    (repository.root / "extra").mkdir()
    (repository.root / "extra" / "file").touch()
    assert undocumented(repository.root) == ["extra/file"]


def test_every_named_folder_is_on_the_page() -> None:
    block = PAGE[: PAGE.index("## Commands")]
    paths = {
        name: getattr(Folders(Path()), name) for name, value in vars(Folders).items() if isinstance(value, property)
    }
    assert len(paths) >= 9
    assert [
        name for name, path in paths.items() if not re.search(rf"^{re.escape(str(path))}", block, re.MULTILINE)
    ] == []


def test_no_other_room_builds_paths_in_a_repository() -> None:
    source = ROOT / "src" / "assay"
    text = {path: path.read_text() for path in source.rglob("*.py") if path.name != "folders.py"}
    assert [
        str(path) for path, code in text.items() if re.search(r"(repository|store|target|opened)\.root\s*/", code)
    ] == []
