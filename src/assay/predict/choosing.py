"""Which runs tell most: the ones after which least doubt is left about a question.

In: what each tree says of each candidate (that trees disagree is the doubt), and the question as weights of candidates.
Out: candidates, the most telling first, and how much of the doubt each leaves. A chosen run is taken as measured, with
the scatter of repetitions: what is still in doubt of every other candidate follows from how trees agree about both, as
in a Gaussian process (D. Cohn, Neural Networks 9 (1996); the update is that of a square-root ensemble filter, J. S.
Whitaker and T. M. Hamill, Mon. Weather Rev. 130 (2002)).
"""

from dataclasses import dataclass

import numpy as np

from assay.predict.features import Features
from assay.predict.forest import grown
from assay.statistics import Floats, Ints

SCATTER = 0.05
"""Standard deviation of repetitions' log times, as far as choosing goes."""
TREES = 96


@dataclass(frozen=True, slots=True)
class Chosen:
    """Candidates in the order in which to run them."""

    order: tuple[int, ...]
    doubt: tuple[float, ...]
    """Standard deviation of the log time that is left about the question, before the first and after each."""


def most_telling(
    said: Floats,
    question: Floats | None,
    *,
    runs: int | None = None,
    expected_s: Floats | None = None,
    budget_s: float | None = None,
) -> Chosen:
    """Return candidates that leave least doubt, at most ``runs`` of them or as many as fit into ``budget_s``.

    ``said``: candidates × trees. ``question``: rows of weights, each a sum over candidates that is asked for; None:
    every candidate's time. With a budget of time, what counts is doubt removed for each second.
    """
    apart = said - said.mean(axis=1, keepdims=True)
    count = apart.shape[1] - 1
    free = np.ones(len(apart), dtype=np.bool_)
    asked = apart if question is None else question @ apart
    order: list[int] = []
    doubt = [_doubt(asked, count)]
    left_s = np.inf if budget_s is None else budget_s
    while free.any() and (runs is None or len(order) < runs):
        fits = free if expected_s is None else free & (expected_s <= left_s)
        if not fits.any():
            break
        gain = ((apart @ (asked.T @ asked)) * apart).sum(axis=1) / ((apart * apart).sum(axis=1) + count * SCATTER**2)
        if budget_s is not None and expected_s is not None:
            gain = gain / expected_s
        best = int(np.argmax(np.where(fits, gain, -1.0)))
        own = apart[best].copy()
        variance = float(own @ own) / count
        shrink = 1.0 / (1.0 + np.sqrt(SCATTER**2 / (variance + SCATTER**2)))
        gain_of = (apart @ own) / count / (variance + SCATTER**2)
        apart = apart - shrink * np.outer(gain_of, own)
        asked = apart if question is None else question @ apart
        free[best] = False
        left_s -= 0.0 if expected_s is None else float(expected_s[best])
        order.append(best)
        doubt.append(_doubt(asked, count))
    return Chosen(tuple(order), tuple(doubt))


def _doubt(asked: Floats, count: int) -> float:
    return float(np.sqrt((asked * asked).sum() / count / len(asked)))


def contrast(codes: Ints, levels: list[int]) -> Floats:
    """Return the question of what levels take against each other: each one's mean against the mean of them all."""
    means = np.stack([(codes == level) / max(1, np.count_nonzero(codes == level)) for level in levels])
    weights: Floats = means - means.mean(axis=0)
    return weights


def trees_say(measured: Features, logs: Floats, candidates: Features, seed: int) -> Floats:
    """Return what trees that learned from few measured configurations say of candidates."""
    return grown(measured, logs, None, trees=TREES, seed=seed).each(candidates)
