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
"""Minimum eigenvalue that counts as different from zero."""
_CHUNK = 64
"""Number of contrasts that are computed together, which limits memory."""


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
    _residual_products: Floats
    """Sum over blocks of the outer products of adjusted residuals, treatments × treatments."""
    _kinds: tuple[_BlockKind, ...]

    def contrasts(self, first: Ints, second: Ints) -> Contrasts:
        """Return each ``first`` treatment's effect minus that of ``second``."""
        mean = self.effect[first] - self.effect[second]
        errors, degrees = np.full(len(first), np.nan), np.full(len(first), np.nan)
        for start in range(0, len(first), _CHUNK):
            rows = slice(start, start + _CHUNK)
            errors[rows], degrees[rows] = self._errors(first[rows], second[rows])
        is_unconnected = self.part[first] != self.part[second]
        for array in (mean, errors, degrees):
            array[is_unconnected] = np.nan
        return Contrasts(mean, errors, degrees)

    def _errors(self, first: Ints, second: Ints) -> tuple[Floats, Floats]:
        weights = self._inverse[first] - self._inverse[second]
        variance = np.einsum("ci,ij,cj->c", weights, self._residual_products, weights)
        trace = np.zeros(len(first))
        variances = np.zeros(len(first))
        product = np.zeros((len(first), *self._inverse.shape))
        has_single_block = np.zeros(len(first), dtype=np.bool_)
        for kind in self._kinds:
            centred_weights = _centred(weights[:, kind.members])
            has_single_block |= (
                np.abs(np.einsum("cpk,pkd->cpd", centred_weights, kind.determined)) > _EIGENVALUE_MIN
            ).any(axis=(1, 2))
            adjusted = np.einsum("cpk,pkl->cpl", centred_weights, kind.adjust)
            squares = np.einsum("cpk,cpk->cp", adjusted, adjusted)
            weights_by_treatment = np.zeros((len(first), len(kind.members), len(self.effect)))
            position = np.broadcast_to(kind.members, adjusted.shape)
            np.put_along_axis(weights_by_treatment, position, _centred(adjusted), axis=2)
            projected = np.einsum("cpi,ij->cpj", weights_by_treatment, self._inverse)
            leverages = np.einsum("cpi,cpi->cp", projected, weights_by_treatment)
            trace += ((squares - leverages) * kind.blocks).sum(axis=1)
            variances += (((squares - leverages) ** 2 - leverages**2) * kind.blocks).sum(axis=1)
            product += np.einsum("cpi,p,cpj->cij", projected, kind.blocks.astype(np.float64), weights_by_treatment)
        total = variances + np.einsum("cij,cji->c", product, product)
        with np.errstate(invalid="ignore", divide="ignore"):
            degrees = np.where(total > 0, trace**2 / total, np.nan)
        error = np.sqrt(np.maximum(variance, 0.0))
        error[has_single_block] = np.nan
        return error, degrees


def fit_blocks(block: Ints, treatment: Ints, value: Floats, treatments: int) -> BlockFit:
    """Return the effects of ``treatments`` treatments, numbered from 0, from one value per treatment and block.

    Blocks with a single treatment are ignored, because they contain no difference.
    """
    order = np.lexsort((treatment, block))
    block, treatment, value = block[order], treatment[order], value[order]
    starts = np.flatnonzero(np.concatenate(([True], block[1:] != block[:-1]))) if len(block) else np.zeros(0, np.int64)
    sizes = np.diff(np.append(starts, len(block)))
    normal, right_side = np.zeros((treatments, treatments)), np.zeros(treatments)
    blocks_by_size: list[tuple[Ints, Ints, Ints, Floats]] = []
    for size in np.unique(sizes[sizes > 1]).tolist():
        cells = starts[sizes == size][:, None] + np.arange(size)
        members, kind = np.unique(treatment[cells], axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        count = np.bincount(kind, minlength=len(members))
        values = _centred(value[cells])
        np.add.at(right_side, treatment[cells].ravel(), values.ravel())
        centring = np.eye(size) - 1 / size
        for row, number in zip(members, count.tolist(), strict=True):
            normal[np.ix_(row, row)] += number * centring
        blocks_by_size.append((members, kind, count, values))
    inverse = np.asarray(np.linalg.pinv(normal, rcond=1e-10, hermitian=True), dtype=np.float64)
    effect = inverse @ right_side
    residual_products = np.zeros_like(normal)
    kinds = []
    for members, kind, count, values in blocks_by_size:
        adjust, determined = _adjustments(members, inverse)
        residual = np.einsum("bk,bkl->bl", values - _centred(effect[members])[kind], adjust[kind])
        block_residuals = np.zeros((len(residual), treatments))
        np.put_along_axis(block_residuals, members[kind], residual, axis=1)
        residual_products += block_residuals.T @ block_residuals
        kinds.append(_BlockKind(members, count, adjust, determined))
    parts = connected_parts([row for kind in kinds for row in kind.members], treatments)
    return BlockFit(effect, parts, inverse, residual_products, tuple(kinds))


def _centred(values: NDArray[Any]) -> Floats:
    """Return values minus the mean of their block, which is the last axis."""
    centred: Floats = values - values.mean(axis=-1, keepdims=True)
    return centred


def _adjustments(members: Ints, inverse: Floats) -> tuple[Floats, Floats]:
    """Return, for the blocks of each kind, (I - H) to the power of -1/2, and the directions in which H is 1."""
    hat = _centred(np.swapaxes(_centred(inverse[members[:, :, None], members[:, None, :]]), 1, 2))
    eigenvalues, axes = np.linalg.eigh(np.eye(members.shape[1]) - hat)
    determined = eigenvalues < _EIGENVALUE_MIN
    power = np.where(determined, 0.0, 1 / np.sqrt(np.where(determined, 1.0, eigenvalues)))
    return np.einsum("pij,pj,pkj->pik", axes, power, axes), axes * determined[:, None, :]


def connected_parts(members: Sequence[Ints], treatments: int) -> Ints:
    """Return the number of each treatment's part; ``members``: the treatments of each block, which connects them."""
    parents = list(range(treatments))

    def root_of(treatment: int) -> int:
        while parents[treatment] != treatment:
            parents[treatment] = parents[parents[treatment]]
            treatment = parents[treatment]
        return treatment

    for row in members:
        for a, b in pairwise(row.tolist()):
            parents[root_of(a)] = root_of(b)
    return np.array([root_of(treatment) for treatment in range(treatments)], dtype=np.int64)
