"""Test the bar of extrapolation: position by multiple or basis, and its place before the numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from assay.estimation.prediction.predict import BASES
from assay.interfaces.web.rendering.extrapolation import bar_of_basis, bar_of_multiple
from simulator_support import measured_repository, needs_simulator
from web_support import client_of


@pytest.mark.parametrize(
    ("times", "position", "text"),
    [
        (0.5, 0.0, "Within the learned range of workers."),
        (2.0, 0.5, "Within the learned range of workers."),
        (4.0, 0.625, "Extrapolated: 4.0 times the learned range of workers."),
        (8.0, 0.75, "Extrapolated: 8.0 times the learned range of workers."),
        (188.0, 1.0, "Extrapolated: 188.0 times the learned range of workers."),
    ],
)
def test_a_multiple_has_a_position_from_green_to_red(times: float, position: float, text: str) -> None:
    bar = bar_of_multiple(times, "workers")
    assert bar.position == pytest.approx(position)
    assert bar.text == text


def test_each_basis_of_a_prediction_has_a_position_and_less_known_is_never_before_better_known() -> None:
    positions = [bar_of_basis(str(basis)).position for basis in BASES]
    assert positions == sorted(positions)
    assert positions[0] < 0.5 < positions[1]


@needs_simulator
def test_the_bar_comes_before_the_numbers_and_names_the_multiple(tmp_path: Path) -> None:
    client: TestClient
    with client_of(measured_repository(tmp_path / "r").root) as client:
        unchanged = client.get("/whatif").text
        assert unchanged.index("Within the learned range of data and workers.") < unchanged.index('id="tiles"')
        changed = client.get("/whatif", params={"workers.count": "24"}).text
        assert changed.index("Extrapolated: 8.0 times the learned range") < changed.index('id="tiles"')
        answer = client.get("/api/v1/whatif/places").json()[0]
        api = client.get("/api/v1/whatif", params={"run": answer["run_id"], "set": "workers.count=24"}).json()
        assert api["configurations"][0]["extrapolation"] == pytest.approx(8.0)
