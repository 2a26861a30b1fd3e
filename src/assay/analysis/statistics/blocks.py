"""Estimate differences between treatments jointly by least squares, from blocks that each have only some treatments.

In: one value for each treatment in each block that has it, as arrays of block numbers, treatment numbers and values.
Out: differences between any two treatments that blocks connect, directly or through other treatments, with their
errors.

Each value is its block's level plus its treatment's effect plus an error. Only differences within blocks count, so
differences between blocks do not matter (intrablock analysis of incomplete blocks: F. Yates, Ann. Eugen. 7, 1936; as a
network meta-analysis: G. Lu and A. E. Ades, Stat. Med. 23, 2004). Errors may differ from block to block and correlate
within one: the variance is cluster-robust with blocks as clusters, and unbiased for few blocks (CR2), with
Satterthwaite's degrees of freedom for each difference (R. M. Bell and D. F. McCaffrey, Surv. Methodol. 28, 2002; J. E.
Pustejovsky and E. Tipton, J. Bus. Econ. Stat. 36, 2018). With two treatments, the result is exactly Student's t on the
blocks' differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics.arrays import Floats, Ints

_EIGENVALUE_MIN = 1e-9
_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Differences between treatments; NaN if no block connects them. The error is NaN if a single block connects
    them."""

    mean: Floats
    error: Floats
    degrees: Floats


@dataclass(frozen=True, slots=True)
class _BlockKind:
    """Sets of treatments of one size, and the number of blocks with each set; arrays are over sets."""

    members: Ints
    """The treatments of each set, one row per set."""
    blocks: Ints
    adjust: Floats
    """The matrix that multiplies the residuals of a set's blocks."""
    determined: Floats
    """The directions in which a set's block alone determines the fit, so that its residual is always zero."""


@dataclass(frozen=True, slots=True)
class BlockFit:
    """Effects of treatments (:func:`fit_blocks`)."""

    effect: Floats
    part: Ints
    """Number of each treatment's part; treatments of the same part are connected and can be compared."""
    _inverse: Floats
    _scatter: Floats
    _kinds: tuple[_BlockKind, ...]

    def contrasts(self, first: Ints, second: Ints) -> Contrasts:
        """Return each ``first`` treatment's effect minus that of ``second``."""
        mean = self.effect[first] - self.effect[second]
        errors, degrees = np.full(len(first), np.nan), np.full(len(first), np.nan)
        for at in range(0, len(first), _CHUNK):
            rows = slice(at, at + _CHUNK)
            errors[rows], degrees[rows] = self._errors(first[rows], second[rows])
        apart = self.part[first] != self.part[second]
        for array in (mean, errors, degrees):
            array[apart] = np.nan
        return Contrasts(mean, errors, degrees)

    def _errors(self, first: Ints, second: Ints) -> tuple[Floats, Floats]:
        weights = self._inverse[first] - self._inverse[second]
        variance = np.einsum("ci,ij,cj->c", weights, self._scatter, weights)
        trace = np.zeros(len(first))
        variances = np.zeros(len(first))
        product = np.zeros((len(first), *self._inverse.shape))
        alone = np.zeros(len(first), dtype=np.bool_)
        for kind in self._kinds:
            pulled = _within(weights[:, kind.members])
            alone |= (np.abs(np.einsum("cpk,pkd->cpd", pulled, kind.determined)) > _EIGENVALUE_MIN).any(axis=(1, 2))
            adjusted = np.einsum("cpk,pkl->cpl", pulled, kind.adjust)
            squares = np.einsum("cpk,cpk->cp", adjusted, adjusted)
            spread = np.zeros((len(first), len(kind.members), len(self.effect)))
            position = np.broadcast_to(kind.members, adjusted.shape)
            np.put_along_axis(spread, position, _within(adjusted), axis=2)
            through = np.einsum("cpi,ij->cpj", spread, self._inverse)
            taken = np.einsum("cpi,cpi->cp", through, spread)
            trace += ((squares - taken) * kind.blocks).sum(axis=1)
            variances += (((squares - taken) ** 2 - taken**2) * kind.blocks).sum(axis=1)
            product += np.einsum("cpi,p,cpj->cij", through, kind.blocks.astype(np.float64), spread)
        total = variances + np.einsum("cij,cji->c", product, product)
        with np.errstate(invalid="ignore", divide="ignore"):
            degrees = np.where(total > 0, trace**2 / total, np.nan)
        error = np.sqrt(np.maximum(variance, 0.0))
        error[alone] = np.nan
        return error, degrees


def fit_blocks(block: Ints, treatment: Ints, value: Floats, treatments: int) -> BlockFit:
    """Return the effects of ``treatments`` treatments, numbered from 0, from one value per treatment and block.

    Blocks with a single treatment are ignored, because they contain no difference.
    """
    order = np.lexsort((treatment, block))
    block, treatment, value = block[order], treatment[order], value[order]
    starts = np.flatnonzero(np.concatenate(([True], block[1:] != block[:-1]))) if len(block) else np.zeros(0, np.int64)
    sizes = np.diff(np.append(starts, len(block)))
    normal, right = np.zeros((treatments, treatments)), np.zeros(treatments)
    grouped: list[tuple[Ints, Ints, Ints, Floats]] = []
    for size in np.unique(sizes[sizes > 1]).tolist():
        cells = starts[sizes == size][:, None] + np.arange(size)
        members, kind = np.unique(treatment[cells], axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        count = np.bincount(kind, minlength=len(members))
        values = _within(value[cells])
        np.add.at(right, treatment[cells].ravel(), values.ravel())
        share = np.eye(size) - 1 / size
        for row, number in zip(members, count.tolist(), strict=True):
            normal[np.ix_(row, row)] += number * share
        grouped.append((members, kind, count, values))
    inverse = np.asarray(np.linalg.pinv(normal, rcond=1e-10, hermitian=True), dtype=np.float64)
    effect = inverse @ right
    scatter = np.zeros_like(normal)
    kinds = []
    for members, kind, count, values in grouped:
        adjust, determined = _adjustments(members, inverse)
        residual = np.einsum("bk,bkl->bl", values - _within(effect[members])[kind], adjust[kind])
        pulled = np.zeros((len(residual), treatments))
        np.put_along_axis(pulled, members[kind], residual, axis=1)
        scatter += pulled.T @ pulled
        kinds.append(_BlockKind(members, count, adjust, determined))
    parts = _parts([row for kind in kinds for row in kind.members], treatments)
    return BlockFit(effect, parts, inverse, scatter, tuple(kinds))


def _within(values: NDArray[Any]) -> Floats:
    """Return values minus the mean of their block, which is the last axis."""
    apart: Floats = values - values.mean(axis=-1, keepdims=True)
    return apart


def _adjustments(members: Ints, inverse: Floats) -> tuple[Floats, Floats]:
    """Return, for the blocks of each kind, (I - H) to the power of -1/2, and the directions in which H is 1."""
    hat = _within(np.swapaxes(_within(inverse[members[:, :, None], members[:, None, :]]), 1, 2))
    share, axes = np.linalg.eigh(np.eye(members.shape[1]) - hat)
    determined = share < _EIGENVALUE_MIN
    power = np.where(determined, 0.0, 1 / np.sqrt(np.where(determined, 1.0, share)))
    return np.einsum("pij,pj,pkj->pik", axes, power, axes), axes * determined[:, None, :]


def _parts(members: Sequence[Ints], treatments: int) -> Ints:
    """Return the number of each treatment's part; treatments that blocks connect have the same number."""
    root = list(range(treatments))

    def top(treatment: int) -> int:
        while root[treatment] != treatment:
            root[treatment] = root[root[treatment]]
            treatment = root[treatment]
        return treatment

    for row in members:
        for a, b in pairwise(row.tolist()):
            root[top(a)] = top(b)
    return np.array([top(treatment) for treatment in range(treatments)], dtype=np.int64)
