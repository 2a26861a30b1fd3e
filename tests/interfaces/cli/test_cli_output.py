"""Test that an output file is written whole or not at all, and that special files are kept."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assay.foundation.errors import AssayError
from assay.foundation.output import output_file
from assay.interfaces.cli.main import assay
from assay.store import Repository
from builders import build_repository, make_run
from paths import ROOT

NULL, FULL = (1, 3), (1, 7)
"""Major and minor number of the devices that swallow everything, and that are always full."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    repository = Repository.create(tmp_path / "r")
    repository.publish(make_run(1))
    return repository.root


def exported(root: Path, target: Path, form: str = "csv") -> Result:
    return CliRunner().invoke(assay, ["export", form, "-o", str(target), "--repository", str(root)])


def device(path: Path, number: tuple[int, int]) -> Path:
    """Make a device node of the test's own; the machine's are never touched."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(*number))
        path.open("rb").close()
    except OSError:
        pytest.skip("device nodes can't be made here")
    return path


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path, root: Path, form: str, linked: bool) -> None:
    target = node = device(tmp_path / "null", NULL)
    if linked:
        target = tmp_path / "link"
        target.symlink_to(node)
    assert exported(root, target, form).exit_code == 0
    assert stat.S_ISCHR(node.lstat().st_mode)
    assert node.stat().st_rdev == os.makedev(*NULL)
    assert target.is_symlink() is linked
    assert left_in(tmp_path) == sorted({"null", "r", target.name})


def test_a_full_device_is_reported(tmp_path: Path, root: Path) -> None:
    node = device(tmp_path / "full", FULL)
    done = exported(root, node)
    assert isinstance(done.exception, AssayError)
    assert "No space left" in str(done.exception)
    assert node.is_char_device()


def test_a_block_device_is_refused(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "disk"
    try:
        os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(0, 0))
    except OSError:
        pytest.skip("device nodes can't be made here")
    done = exported(root, path)
    assert isinstance(done.exception, AssayError)
    assert "block device" in str(done.exception)
    assert path.is_block_device()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_fifo_passes_everything_on_and_stays(tmp_path: Path, root: Path, form: str) -> None:
    fifo, whole = tmp_path / "fifo", tmp_path / "whole"
    os.mkfifo(fifo)
    assert exported(root, whole, form).exit_code == 0
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert exported(root, fifo, form).exit_code == 0
    reader.join(20)
    assert len(got[0]) == whole.stat().st_size
    assert fifo.is_fifo()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["pipe", "file", "append"])
def test_standard_output_by_its_name_gets_the_table(tmp_path: Path, root: Path, mode: str) -> None:
    command = [sys.executable, "-m", "assay", "export", "csv", "--repository", str(root), "-o", "/dev/stdout"]
    if mode == "pipe":
        text = subprocess.run(command, capture_output=True, check=True).stdout
    else:
        log = tmp_path / "log"
        with log.open("ab" if mode == "append" else "wb") as file:
            file.write(b"before\n")
            file.flush()
            subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True)
            file.write(b"after\n")
        lines = log.read_bytes().split(b"\n", 1)
        assert lines[0] == b"before"
        text, after, _ = lines[1].rpartition(b"after\n")
        assert after
    assert text.startswith(b"run_id,")
    assert Path("/dev/stdout").is_symlink()


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced_with_its_mode(tmp_path: Path, root: Path) -> None:
    (tmp_path / "kept").mkdir()
    real, link = tmp_path / "kept" / "real.csv", tmp_path / "link.csv"
    real.write_text("what was there")
    real.chmod(0o640)
    link.symlink_to("kept/real.csv")
    before = real.stat().st_ino
    assert exported(root, link).exit_code == 0
    assert link.is_symlink()
    assert real.read_text().startswith("run_id,")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.stat().st_ino != before, "written to a temporary file and renamed, not overwritten"
    assert left_in(tmp_path / "kept") == ["real.csv"]


def test_a_link_to_nothing_yet_makes_what_it_names(tmp_path: Path, root: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to("made.csv")
    assert exported(root, link).exit_code == 0
    assert link.is_symlink()
    assert (tmp_path / "made.csv").read_text().startswith("run_id,")


@pytest.mark.parametrize("linked", [False, True])
def test_a_failure_half_way_changes_nothing(tmp_path: Path, linked: bool) -> None:
    old, target = tmp_path / "old", tmp_path / "target"
    old.write_text("what was there")
    target.symlink_to("nothing" if linked else "old")

    def fail() -> None:
        with output_file(target) as made:
            made.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(AssayError, match="No space"):
        fail()
    assert old.read_text() == "what was there"
    assert left_in(tmp_path) == ["old", "target"]


def test_a_missing_folder_is_an_error(tmp_path: Path, root: Path) -> None:
    for target in (tmp_path / "none" / "a.csv", tmp_path / "r" / "assay.json" / "a.csv"):
        assert isinstance(exported(root, target).exception, AssayError)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.html", "a.md", "a.tar.gz"])
def test_reports_and_packages_follow_links_to_devices(tmp_path: Path, name: str) -> None:
    root = build_repository(tmp_path / "r").root
    node = device(tmp_path / "null", NULL)
    (tmp_path / name).symlink_to(node)
    option = "--bundle" if name.endswith("gz") else "-o"
    done = CliRunner().invoke(
        assay, ["report", option, str(tmp_path / name), "--repository", str(root), "--workload", "terasort"]
    )
    assert done.exit_code == 0, done.output
    assert node.is_char_device()
    assert (tmp_path / name).is_symlink()


@pytest.mark.slow
def test_charts_keep_a_device_that_has_a_chart_s_name(tmp_path: Path) -> None:
    root, charts = build_repository(tmp_path / "r").root, tmp_path / "charts"
    command = ["report", "--charts", str(charts), "--repository", str(root), "--workload", "terasort"]
    assert CliRunner().invoke(assay, command).exit_code == 0
    first = min(charts.iterdir())
    first.unlink()
    node = device(first, NULL)
    assert CliRunner().invoke(assay, command).exit_code == 0
    assert node.is_char_device()


WRITES = re.compile(r"\.write_(?:text|bytes)\(|open\([^)]*[\"'][wax]b?[\"']|copyfile|\.rename\(")
WRITING = re.compile(r" *(with new_file\.open|new_file\.|\(folder / |main\.write_text)")
"""Writing into what `written` hands out, and into a folder that the command has made for itself."""


@pytest.mark.parametrize("package", ["cli", "report"])
def test_every_command_writes_named_files_the_same_way(package: str) -> None:
    """The tests above then hold for every command."""
    files = sorted((ROOT / "src" / "assay" / "interfaces" / package).rglob("*.py"))
    assert files
    lines = [f"{path.name}:{line}" for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if WRITES.search(line) and not WRITING.match(line.partition(":")[2])] == []


def test_a_report_s_folder_is_checked_before_anything_is_computed(tmp_path: Path, root: Path) -> None:
    done = CliRunner().invoke(assay, ["report", "-o", str(tmp_path / "none" / "a.html"), "--repository", str(root)])
    assert isinstance(done.exception, AssayError)
    assert "does not exist" in str(done.exception)
