"""Build the parts of the wheel that are not Python, and add them to the package's folder ``shipped``.

Needs cargo, and Maven with a JDK. The parts: the daemon of modelled disks and the simulator (linked statically, so that
they run with any C library), the jar of assay's own jobs, the list of Hadoop's jars with their checksums, the sources
of the Spark programs (compiled on the machine with Spark), the examples, and the commit. An editable installation gets
no parts: it uses those of the source tree.

``assay.foundation.installation`` finds each part.
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
        """Make the parts. Raises RuntimeError if a program is missing or fails."""
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
            relative_path = path.relative_to(root)
            # The measured runs of the examples stay in the source tree.
            if path.is_file() and "measured" not in relative_path.parts:
                parts[str(relative_path)] = path
        if commit := _commit(root, work):
            parts["commit"] = commit
        for name, path in parts.items():
            build_data["force_include"][str(path)] = f"assay/shipped/{name}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"


def _programs(root: Path, work: Path) -> dict[str, Path]:
    """Build the Rust programs. The target is explicit: otherwise cargo applies the flags to build scripts too."""
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
    """Write ``SHA-256  bytes  path in a Maven repository`` for every jar on which the POM depends.

    The POM's versions are fixed, so the list is made again only if the POM changes.
    """
    pom = root / "java" / "hadoop-distribution" / "pom.xml"
    list_file = work / f"hadoop-jars-{hashlib.sha256(pom.read_bytes()).hexdigest()[:_NAME_CHARS]}.txt"
    if list_file.is_file():
        return list_file
    layout = work / "hadoop-jars"
    shutil.rmtree(layout, ignore_errors=True)
    _maven(root, pom, f"-Dassay.lib={layout}", "-Dmdep.useRepositoryLayout=true")
    lines = []
    for jar in sorted(layout.rglob("*.jar")):
        content = jar.read_bytes()
        lines.append(f"{hashlib.sha256(content).hexdigest()}  {len(content)}  {jar.relative_to(layout)}\n")
    shutil.rmtree(layout)
    temporary_file = list_file.with_suffix(".new")
    temporary_file.write_text("".join(lines))
    temporary_file.replace(list_file)
    return list_file


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
    hint = "assay's own jobs and the list of Hadoop's jars are made by Maven: install maven and a JDK"
    _run(["mvn", "-B", "-q", "-f", str(pom), "package", *settings], root, hint)


def _run(command: list[str], folder: Path, hint: str, **settings: str) -> str:
    if shutil.which(command[0]) is None:
        raise RuntimeError(f"{command[0]} is not installed; {hint}")
    result = subprocess.run(
        command, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{(result.stdout + result.stderr)[-3000:]}")
    return result.stdout
