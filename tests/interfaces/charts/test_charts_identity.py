"""Test that a configuration has the same colour and shape in every chart."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.comparison.factors.device_classes import DeviceClass, device_class_of, layout_classes
from assay.analysis.statistics.runs.run_table import table_of
from assay.interfaces.charts.drawing.identity import (
    ADDITIONAL_COLOURS,
    CLASS_COLOURS,
    SHAPE_PATHS,
    SHAPES,
    colours_of,
    distinct_colours,
    luminance,
    shape_of,
    shapes_of,
)
from assay.interfaces.charts.drawing.style import OPACITIES, PALETTE, PHASE_COLOURS, opacity_scale
from builders import make_run
from seen_colours import SHARMA, Lab, ciede2000, lab

CODES = ["HDD", "HD2", "HD3", "HD4", "HD5", "HD6", "SSD", "SS2", "NVE", "HS5"]
CODES += ["RL1", "RL2", "RL3", "R1", "R2", "R3", "RR1", "RR2", "RR3"]
SHAPES_MAX = len(SHAPES)
PAPER, CARDS = ("#FFFFFF", "#FBFBFA"), ("#14171A", "#1B1F23")
"""Background colours of the light and the dark theme."""


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=30), st.randoms())
def test_the_order_of_the_index_does_not_matter(names: list[str], chance: random.Random) -> None:
    shuffled = list(names)
    chance.shuffle(shuffled)
    assert colours_of(names) == colours_of(shuffled)
    assert list(colours_of(shuffled)) == shuffled


@given(st.sets(st.sampled_from(CODES)), st.sampled_from(CODES))
def test_a_layout_keeps_its_colour_when_others_are_added(others: set[str], layout: str) -> None:
    assert colours_of([layout, *others])[layout] == colours_of([layout])[layout]


def test_the_colour_shows_the_device_class_and_the_shape_the_number_of_disks() -> None:
    colours = colours_of([*CODES, *DeviceClass])
    for code in CODES:
        device_class = device_class_of(code, None)
        assert device_class is not None
        assert colours[code] == CLASS_COLOURS[device_class] == colours[device_class], code
    assert len(set(CLASS_COLOURS.values())) == len(DeviceClass)
    assert colours_of(["HDD-11", "HDD, 4 containers"])["HDD, 4 containers"] == colours["HDD"]
    assert [shape_of(name) for name in ("HDD", "HD2", "SSD", "SS2")] == [SHAPES[0], SHAPES[1], SHAPES[0], SHAPES[1]]


ALOJA = [*(f"{family}{n}" for family in ("R", "RL", "RR", "HD", "SS", "HS") for n in range(1, 7)), "HDD", "SSD"]


@given(st.lists(st.one_of(st.sampled_from(ALOJA), st.text(min_size=1, max_size=4)), unique=True, max_size=SHAPES_MAX))
def test_no_two_levels_of_a_chart_have_the_same_colour_and_shape(names: list[str]) -> None:
    colours = colours_of(names)
    shapes = shapes_of(colours)
    assert len({(colours[name], shapes[name]) for name in names}) == len(names)
    assert set(shapes.values()) <= set(SHAPES)
    different = distinct_colours(names, colours)
    assert len(set(different.values())) == min(len(names), 20)


def test_all_layouts_of_aloja_differ_in_colour_or_shape() -> None:
    colours = colours_of(ALOJA)
    shapes = shapes_of(colours)
    assert len({(colours[name], shapes[name]) for name in ALOJA}) == len(ALOJA) == 38
    assert (colours["R3"], shapes["R3"]) != (colours["RL3"], shapes["RL3"])
    assert shapes["HD2"] == shapes["SS2"] == shape_of("HD2")


def test_opacities_of_many_levels_of_one_colour_differ() -> None:
    scale = opacity_scale(colours_of([f"R{n}" for n in range(1, 8)]))
    assert len(set(scale["range"])) == 7
    assert min(scale["range"]) >= OPACITIES[-1]


def test_recorded_devices_have_precedence_over_the_code() -> None:
    recorded = {"cluster": {"layout_devices": {"nvme": 2}}}
    layouts = {"dense": recorded, "HD2": recorded, "unknown": {}}
    runs = [make_run(n, layout=name, environment=seen) for n, (name, seen) in enumerate(layouts.items())]
    classes = layout_classes(table_of(runs))
    assert classes == {"dense": DeviceClass.NVME, "HD2": DeviceClass.NVME}
    colours = colours_of(["dense", "HD2", "unknown"], classes)
    assert colours["dense"] == colours["HD2"] == CLASS_COLOURS[DeviceClass.NVME]
    assert colours["unknown"] not in CLASS_COLOURS.values()


def test_levels_of_one_colour_differ_in_opacity() -> None:
    scale = opacity_scale(colours_of(["HD2", "SS2", "HD5", "HDD"]))
    assert scale["domain"] == ["HD2", "SS2", "HD5", "HDD"]
    assert scale["range"] == [OPACITIES[0], OPACITIES[0], OPACITIES[1], OPACITIES[2]]


@pytest.mark.parametrize(("first", "other", "difference"), SHARMA)
def test_differences_of_colours_are_those_that_were_published(first: Lab, other: Lab, difference: float) -> None:
    assert ciede2000(first, other) == pytest.approx(difference, abs=5e-5)


@pytest.mark.parametrize(
    ("eyes", "least"), [("normal", 12.0), ("without red", 5.9), ("without green", 5.9), ("without blue", 7.5)]
)
def test_any_two_colours_can_be_distinguished(eyes: str, least: float) -> None:
    """2.3 is the smallest visible difference; device classes differ most."""
    every = [lab(colour, eyes) for colour in (*PALETTE, *ADDITIONAL_COLOURS)]
    assert len(every) == 20
    assert min(ciede2000(first, other) for first, other in combinations(every, 2)) >= least
    of_classes = [lab(colour, eyes) for colour in CLASS_COLOURS.values()]
    assert min(ciede2000(first, other) for first, other in combinations(of_classes, 2)) >= 1.1 * least


@given(st.lists(st.sampled_from([f"name {n}" for n in range(30)]), unique=True, min_size=2, max_size=19))
def test_up_to_nineteen_levels_that_are_shown_together_have_a_colour_each(names: list[str]) -> None:
    colours = colours_of(names)
    assert len(set(colours.values())) == len(names)
    assert set(colours.values()) <= {*PALETTE[:-1], *ADDITIONAL_COLOURS}


def test_every_colour_can_be_seen_on_white_and_on_dark() -> None:
    for colour in (*PALETTE, *ADDITIONAL_COLOURS, *PHASE_COLOURS.values()):
        assert min((luminance(ground) + 0.05) / (luminance(colour) + 0.05) for ground in PAPER) >= 3, colour
        assert min((luminance(colour) + 0.05) / (luminance(ground) + 0.05) for ground in CARDS) >= 3, colour


def test_up_to_six_other_names_have_a_hue_each() -> None:
    assert len(set(colours_of(["ETH", "IB"]).values()) & set(PALETTE)) == 2
    assert len(set(colours_of([f"cluster-{n}" for n in range(18)]).values())) == 18
    assert set(SHAPES) == set(SHAPE_PATHS)
