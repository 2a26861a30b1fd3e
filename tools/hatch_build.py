"""The wheel's build hook: the parts that are not Python, made and put into the package's folder ``shipped``.

Needs cargo, and Maven with a JDK. What is made: the emulated disks' daemon and the simulator (linked statically, so
that they run whatever C library a machine has), the jar of assay's own jobs, the list of Hadoop's jars with their
checksums, the sources of the Spark programs (compiled where Spark is), the examples, and the commit. An editable
installation needs none of that and gets none: it uses the source tree's own.

``assay.foundation.installation`` says where each part is looked for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PROGRAMS = ("assay-diskd", "assay-simulate")
_JOBS_JAR = "assay-jobs.jar"
_NAME_CHARS = 12


class ShippedParts(BuildHookInterface):
    """Makes the parts below ``build/wheel`` and adds them to the wheel, which becomes one for this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the parts; raises RuntimeError with what is missing or went wrong."""
        if version == "editable":
            return
        root = Path(self.root)
        work = root / "build" / "wheel"
        work.mkdir(parents=True, exist_ok=True)
        parts = {
            **_programs(root, work),
            _JOBS_JAR: _jobs(root),
            "hadoop-jars.txt": _hadoop_jars(root, work),
            "hadoop-distribution.pom.xml": root / "java" / "hadoop-distribution" / "pom.xml",
        }
        spark = root / "java" / "spark-jobs"
        parts |= {f"spark-jobs/{path.relative_to(spark)}": path for path in sorted(spark.rglob("*.java"))}
        for path in sorted((root / "examples").rglob("*")):
            name = path.relative_to(root)
            # What was measured with them is for reading in the source tree.
            if path.is_file() and "measured" not in name.parts:
                parts[str(name)] = path
        if commit := _commit(root, work):
            parts["commit"] = commit
        for name, path in parts.items():
            build_data["force_include"][str(path)] = f"assay/shipped/{name}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"


def _programs(root: Path, work: Path) -> dict[str, Path]:
    """Build what is Rust; the triple is named because cargo would give a build script the same flags otherwise."""
    version = _run(
        ["rustc", "-vV"], root, "the disks' daemon and the simulator are built by Rust: install cargo and rustc"
    )
    triple = next(line.removeprefix("host: ") for line in version.splitlines() if line.startswith("host: "))
    target = work / "rust"
    command = ["cargo", "build", "--release", "--locked", "--offline", "--manifest-path", "rust/Cargo.toml"]
    _run(
        [*command, "--target", triple, "--target-dir", str(target)],
        root,
        "the disks' daemon and the simulator are built by Rust: install cargo",
        RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols",
    )
    return {name: target / triple / "release" / name for name in _PROGRAMS}


def _jobs(root: Path) -> Path:
    """Compile assay's own jobs, unless the jar is newer than every source."""
    folder = root / "java" / "jobs"
    jar = folder / "target" / _JOBS_JAR
    sources = [folder / "pom.xml", *(folder / "src" / "main").rglob("*.java")]
    if not jar.is_file() or jar.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        _maven(root, folder / "pom.xml", "-Dmaven.test.skip=true")
    return jar


def _hadoop_jars(root: Path, work: Path) -> Path:
    """Write ``SHA-256  bytes  path in a Maven repository`` of every jar that the POM comes to.

    The POM's versions are fixed, so the list is kept for as long as the POM stays as it is.
    """
    pom = root / "java" / "hadoop-distribution" / "pom.xml"
    kept = work / f"hadoop-jars-{hashlib.sha256(pom.read_bytes()).hexdigest()[:_NAME_CHARS]}.txt"
    if kept.is_file():
        return kept
    layout = work / "hadoop-jars"
    shutil.rmtree(layout, ignore_errors=True)
    _maven(root, pom, f"-Dassay.lib={layout}", "-Dmdep.useRepositoryLayout=true")
    lines = []
    for jar in sorted(layout.rglob("*.jar")):
        content = jar.read_bytes()
        lines.append(f"{hashlib.sha256(content).hexdigest()}  {len(content)}  {jar.relative_to(layout)}\n")
    shutil.rmtree(layout)
    aside = kept.with_suffix(".new")
    aside.write_text("".join(lines))
    aside.replace(kept)
    return kept


def _commit(root: Path, work: Path) -> Path | None:
    sys.path.insert(0, str(root / "src"))
    try:
        from assay.foundation.installation import Installation
    finally:
        sys.path.remove(str(root / "src"))
    commit = Installation(root / "src" / "assay").commit
    if commit is None:
        return None
    (work / "commit").write_text(f"{commit}\n")
    return work / "commit"


def _maven(root: Path, pom: Path, *settings: str) -> None:
    lacking = "assay's own jobs and the list of Hadoop's jars are made by Maven: install maven and a JDK"
    _run(["mvn", "-B", "-q", "-f", str(pom), "package", *settings], root, lacking)


def _run(command: list[str], folder: Path, lacking: str, **settings: str) -> str:
    if shutil.which(command[0]) is None:
        raise RuntimeError(f"{command[0]} is not installed; {lacking}")
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout
