"""A configuration looks the same everywhere: whatever else there is, and in whatever order it was found."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.charts.identity import SHAPE_PATHS, SHAPES, colours_of, luminance, shape_of
from assay.charts.style import PALETTE

CODES = ["HDD", "HD2", "HD3", "HD5", "SSD", "SS2", "HS5", "RL1", "RL2", "RL3", "R1", "R2", "R3", "RR1", "RR3", "NVE"]


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=30), st.randoms())
def test_the_order_of_the_index_does_not_matter(names: list[str], chance: random.Random) -> None:
    shuffled = list(names)
    chance.shuffle(shuffled)
    assert colours_of(names) == colours_of(shuffled)
    assert list(colours_of(shuffled)) == shuffled


@given(st.sets(st.sampled_from(CODES)), st.sampled_from(CODES))
def test_a_layout_keeps_its_colour_whatever_is_added(others: set[str], layout: str) -> None:
    assert colours_of([layout, *others])[layout] == colours_of([layout])[layout]


def test_layouts_of_one_family_share_a_hue_and_no_two_look_alike() -> None:
    found = colours_of(CODES)
    assert found["HDD"] == PALETTE[0]
    assert found["SSD"] == PALETTE[1]
    assert colours_of(["Hybrid"])["Hybrid"] != found["HDD"]
    looks = [(found[name], shape_of(name)) for name in CODES]
    assert len(set(looks)) == len(CODES)


@pytest.mark.parametrize("names", [["HD2", "HD3", "SS2", "SS3", "HY1", "RR1", "R1"], [f"c{n}" for n in range(18)]])
def test_shades_can_be_seen_on_white_and_on_dark(names: list[str]) -> None:
    for colour in set(colours_of(names).values()) - set(PALETTE):
        assert 1.05 / (luminance(colour) + 0.05) >= 3
        assert (luminance(colour) + 0.05) / (luminance("#1B1F23") + 0.05) >= 3


def test_up_to_six_other_names_have_a_hue_each() -> None:
    assert len(set(colours_of(["ETH", "IB"]).values()) & set(PALETTE)) == 2
    assert len(set(colours_of([f"cluster-{n}" for n in range(18)]).values())) == 18
    assert set(SHAPES) == set(SHAPE_PATHS)
