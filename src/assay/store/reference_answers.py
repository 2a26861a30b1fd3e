"""Compute reference answers of a decision-support run: generate its tables again, and query them with DuckDB.

The generator produces the same bytes on every machine, and their checksum is recorded, so no data has to be fetched
from the cluster. Answers are cached in a file whose name is a hash of everything that determines them. The tables are
removed after the queries.
"""

import datetime
import hashlib
import json
import subprocess
import tempfile
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from assay.foundation.errors import EngineError
from assay.foundation.output import write_output
from assay.model import TABLE_GENERATOR, ReferenceAnswers, ReferenceQueries, Rows

_TIMEOUT_S = 3600
"""Maximum time to generate the tables, in seconds: an hour."""


def compute_answers(queries: ReferenceQueries, generator: Path | None, cache_folder: Path) -> ReferenceAnswers:
    """Return DuckDB's answers, cached if possible. Raises EngineError if the tables can't be generated."""
    if generator is None:
        hint = f"install assay with its requirements, or also the package {TABLE_GENERATOR}"
        raise EngineError(f"the program {TABLE_GENERATOR}, which generates the tables, is not installed", hint=hint)
    determinants = json.dumps([queries.scale_factor, queries.parts, queries.queries, duckdb.__version__])
    cache_file = cache_folder / f"answers-{hashlib.sha256(determinants.encode()).hexdigest()[:12]}.json"
    if cache_file.is_file():
        cached_answers = json.loads(cache_file.read_text())
        rows = tuple(tuple(map(tuple, answer)) for answer in cached_answers["rows"])
        return ReferenceAnswers(rows, cached_answers["files_bytes"], cached_answers["files_checksum"])
    cache_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tables-", dir=cache_folder) as scratch:
        folder = Path(scratch)
        _generate_tables(queries, generator, folder)
        files = sorted(folder.rglob("*.parquet"))
        new_answers = ReferenceAnswers(
            _answers(queries, folder),
            sum(file.stat().st_size for file in files),
            sum(_checksum(file) for file in files),
        )
    record = {
        "rows": new_answers.rows,
        "files_bytes": new_answers.files_bytes,
        "files_checksum": new_answers.files_checksum,
    }
    write_output(cache_file, json.dumps(record).encode())
    return new_answers


def _generate_tables(queries: ReferenceQueries, generator: Path, folder: Path) -> None:
    command = [str(generator), "parquet", "--scale-factor", queries.scale_factor, "--parts", str(queries.parts)]
    try:
        result = subprocess.run(
            [*command, "--quiet", "--output-dir", str(folder)],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"the tables could not be generated: {error}", where=str(generator)) from error
    if result.returncode != 0:
        message = (result.stderr or result.stdout).strip()[-300:]
        hint = "the answers need room for the tables on the machine where assay runs: 0.35 GB for each 1 GB of data"
        raise EngineError(f"the tables could not be generated: {message}", where=str(generator), hint=hint)


def _answers(queries: ReferenceQueries, folder: Path) -> tuple[Rows, ...]:
    with duckdb.connect(config={"temp_directory": str(folder)}) as connection:
        for table in sorted(folder.iterdir()):
            if table.is_dir():
                connection.read_parquet(f"{table}/*.parquet").create_view(table.name)
        return tuple(
            tuple(tuple(map(_text, row)) for row in connection.execute(query).fetchall()) for query in queries.queries
        )


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _checksum(file: Path) -> int:
    """Return the CRC-32 of a file's content and its name, which includes its table's name."""
    checksum = zlib.crc32(f"{file.parent.name}/{file.name}".encode())
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return checksum
