"""Test ids from content: equal for single and batch use, stable between versions."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.store.bundles.content_ids import RunIds, uuid8, uuids8
from effort import examples


def test_the_id_of_a_key_is_what_it_always_was() -> None:
    assert uuid8("run", "aloja", "a key", "0") == "602bf876-804d-854f-ad61-44b4e727e293"


@settings(max_examples=examples(100))
@given(st.lists(st.text(max_size=40)))
def test_ids_of_many_texts_equal_the_ids_of_each_text(texts: list[str]) -> None:
    assert uuids8(texts) == [uuid8(text) for text in texts]


@settings(max_examples=examples(100))
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=5))
def test_runs_with_the_same_key_are_distinguished_by_their_order(parts: list[list[str]]) -> None:
    single, many = RunIds("f"), RunIds("f")
    keys = [key for part in parts for key in part]
    assert [single.of(key) for key in keys] == [run_id for part in parts for run_id in many.next_ids(part)]
    expected = [uuid8("run", "f", key, str(keys[:row].count(key))) for row, key in enumerate(keys)]
    assert single.ids == many.ids == expected
