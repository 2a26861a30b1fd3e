"""The version of assay, which packages at every level record with what they write."""

__version__ = "0.3.0"
