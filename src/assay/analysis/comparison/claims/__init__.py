"""Tests of published claims on matched groups."""
