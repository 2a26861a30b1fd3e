"""Record the steps of a campaign in place of printing them."""

from __future__ import annotations

from assay.model.runs.run import Run


class StepRecorder:
    """A watcher of a campaign that keeps its steps and prints nothing."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def say(self, text: str) -> None: ...
    def step(self, text: str) -> None:
        self.steps.append(text)

    def begin(self, number: int, total: int, title: str, left_s: float | None) -> None: ...
    def end(self, run: Run) -> None: ...
