"""Test messages about mistakes in a hardware catalogue."""

import re
from pathlib import Path

import pytest

from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.foundation.errors import SpecificationError

TEXT = (Path(__file__).parents[3] / "examples" / "hardware" / "catalogue.yaml").read_text()


def with_compression(codecs: str) -> str:
    assert "compression: [none, snappy]" in TEXT
    return TEXT.replace("compression: [none, snappy]", f"compression: [{codecs}]")


def test_every_codec_that_the_message_about_an_unknown_codec_lists_is_valid() -> None:
    with pytest.raises(SpecificationError, match="unknown compression 'default'") as caught:
        catalogue_of(with_compression("default"))
    listed_codecs = re.search(r"valid: ([a-z0-9, ]+)", str(caught.value))
    assert listed_codecs
    assert catalogue_of(with_compression(listed_codecs[1])).compressions == tuple(listed_codecs[1].strip().split(", "))
