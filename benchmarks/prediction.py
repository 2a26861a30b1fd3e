"""Compare the accuracy and intervals of predictions with ALOJA-ML's methods on the same splits.

Reads ALOJA's ``execs`` table and its list of clusters through the importer and splits the valid runs: at random by run
as ALOJA-ML does, by configuration (repetitions stay together), by whole clusters and whole classes of disks, and by a
cluster with a few known runs. ALOJA-ML's methods (J. L. Berral et al., KDD 2015) are rebuilt: a model tree similar to
M5P, nearest neighbours, linear regression, a neural network; and scikit-learn's gradient boosting with default
parameters, on seconds. All methods get the plain columns.

MAE: mean absolute error, s. RAE: MAE divided by that of the training runs' mean. MAPE: mean absolute error divided by
the time. Held: share of runs within assay's 90 % interval. Width: median of the upper end divided by the expected time.

Run it with ``python benchmarks/prediction.py aloja-execs.csv aloja-clusters.csv``; it prints Markdown. ``--worlds``
adds tables of 12 different clusters made from a formula (``prediction_worlds.py``).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prediction_worlds import world

from assay.analysis.statistics.keys import groups_by, usable
from assay.analysis.statistics.runs.factors_of_runs import LAYOUT_DEVICES
from assay.analysis.statistics.runs.run_table import RunTable, table_of
from assay.estimation.prediction.features import hardware_values
from assay.estimation.prediction.model import learn
from assay.estimation.prediction.predict import predict
from assay.model.runs.imported import ImportedRun
from assay.specs.instances import shipped_instances
from assay.store.formats.aloja.execs import FORMAT
from assay.store.formats.source import Source

HELD_OUT_SEED = 2014
"""Seed that draws the quarter of ALOJA's runs with which no choice of the learner was made."""
KNOWN_RUNS = 40
"""Number of known runs of a cluster whose other runs are left out."""
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Method = Callable[[Floats, Floats, Floats], Floats]
"""Learns from features and seconds, and predicts from features."""


class ModelTree:
    """A tree with a ridge regression in each leaf, smoothed towards its parents' as M5 does (R. Quinlan, 1992)."""

    SMOOTHING = 15.0

    def __init__(self, features: Floats, seconds: Floats) -> None:
        from sklearn.linear_model import Ridge
        from sklearn.tree import DecisionTreeRegressor

        self.tree = DecisionTreeRegressor(min_samples_leaf=20, random_state=0).fit(features, seconds)
        paths = self.tree.decision_path(features)
        self.models = [Ridge(1.0).fit(features[rows], seconds[rows]) for rows in (c.indices for c in paths.tocsc().T)]
        self.sizes = self.tree.tree_.n_node_samples
        self.low, self.high = seconds.min(), seconds.max()

    def predict(self, features: Floats) -> Floats:
        """Return the smoothed estimates of the leaves, limited to the range of the training runs."""
        predictions = np.array([model.predict(features) for model in self.models])
        paths = self.tree.decision_path(features)
        expected = np.empty(len(features))
        for row in range(len(features)):
            nodes = paths[row].indices[::-1]
            value = predictions[nodes[0], row]
            for child, parent in pairwise(nodes):
                n = self.sizes[child]
                value = (n * value + self.SMOOTHING * predictions[parent, row]) / (n + self.SMOOTHING)
            expected[row] = value
        clipped: Floats = np.clip(expected, self.low, self.high)
        return clipped


def _net(features: Floats, seconds: Floats, predicted_rows: Floats) -> Floats:
    from sklearn.neural_network import MLPRegressor

    means, scale = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    mean, spread = seconds.mean(), seconds.std()
    net = MLPRegressor(hidden_layer_sizes=(32,), alpha=0.01, max_iter=400, early_stopping=True, random_state=0)
    net.fit((features - means) / scale, (seconds - mean) / spread)
    predicted: Floats = net.predict(np.clip((predicted_rows - means) / scale, -5, 5)) * spread + mean
    return predicted


def methods() -> dict[str, Method]:
    """Return the methods by name."""
    from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor

    def fitted(make: Callable[[], Any]) -> Method:
        return lambda features, seconds, predicted_rows: make().fit(features, seconds).predict(predicted_rows)

    return {
        "gradient boosting, plain": fitted(lambda: GradientBoostingRegressor(random_state=0)),
        "gradient boosting on logarithms": lambda features, seconds, predicted_rows: np.exp(
            GradientBoostingRegressor(random_state=0).fit(features, np.log(seconds)).predict(predicted_rows)
        ),
        "histogram boosting on logarithms, absolute error": lambda features, seconds, predicted_rows: np.exp(
            HistGradientBoostingRegressor(
                loss="absolute_error", max_iter=300, min_samples_leaf=3, early_stopping=False, random_state=0
            )
            .fit(features, np.log(seconds))
            .predict(predicted_rows)
        ),
        "model tree (M5P's manner)": lambda features, seconds, predicted_rows: ModelTree(features, seconds).predict(
            predicted_rows
        ),
        "3 nearest neighbours": fitted(lambda: KNeighborsRegressor(3)),
        "linear": fitted(lambda: Ridge(1.0)),
        "neural net": _net,
    }


def plain_columns(table: RunTable) -> Floats:
    """Return the features of the other methods: one per level, and numbers, scaled to 0 … 1."""
    columns: list[Floats] = []
    for name in (*table.factors, LAYOUT_DEVICES):
        column = table.columns.get(name)
        if column is None or len(np.unique(column.codes)) < 2:
            continue
        columns += [(column.codes == code).astype(np.float64) for code in np.unique(column.codes)]
        values = [float(level) if level.replace(".", "", 1).isdigit() else np.nan for level in column.levels]
        if np.isfinite(values).all():
            columns.append(np.nan_to_num(np.array([*values, np.nan])[column.codes], nan=-1.0))
    columns += [np.nan_to_num(value, nan=-1.0) for name, value in table.values.items() if name.startswith("cluster.")]
    features = np.stack(columns, axis=1)
    scaled: Floats = (features - features.min(axis=0)) / np.maximum(np.ptp(features, axis=0), 1e-12)
    return scaled


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of one method on one split."""

    mae_s: float
    rae: float
    mape: float
    held: float = np.nan
    width: float = np.nan
    held_min: float = np.nan
    """Smallest share held by a workload with at least 50 predicted runs."""
    answered: float = 1.0
    clusters: Mapping[str, tuple[int, float, float, float]] = field(default_factory=dict)
    """Cluster to the number of runs, the MAPE, the share held and the width."""


def scores(predicted_s: Floats, true_s: Floats, mean_s: float) -> Scores:
    """Return the scores of times."""
    errors_s = np.abs(predicted_s - true_s)
    return Scores(
        float(errors_s.mean()), float(errors_s.sum() / np.abs(mean_s - true_s).sum()), float((errors_s / true_s).mean())
    )


def scores_by_method(table: RunTable, training: Rows, left_out: Rows, only: Sequence[str] = ()) -> dict[str, Scores]:
    """Return the scores of every method on the rows ``left_out`` that assay predicts, learned from ``training``."""
    seconds = table.values["duration_s"]
    prediction = predict(learn(table.subset(training)), table.subset(left_out))
    is_answered = np.isfinite(prediction.expected_s)
    mean_s, predicted_rows = float(seconds[training].mean()), left_out[is_answered]
    if not len(predicted_rows):
        return {"assay": Scores(np.nan, np.nan, np.nan, answered=0.0)}
    in_interval = ((prediction.low_s <= seconds[left_out]) & (seconds[left_out] <= prediction.high_s))[is_answered]
    workload = table.columns["workload"].codes[predicted_rows]
    sizes = np.bincount(workload)
    least_held = min((in_interval[workload == code].mean() for code in np.flatnonzero(sizes >= 50)), default=np.nan)
    width = float(np.median((prediction.high_s / prediction.expected_s)[is_answered]))
    errors = np.abs(prediction.expected_s[is_answered] / seconds[predicted_rows] - 1.0)
    widths = (prediction.high_s / prediction.expected_s)[is_answered]
    codes = table.columns["cluster"].codes[predicted_rows]
    clusters = {
        table.columns["cluster"].levels[code]: (
            int(on_cluster.sum()),
            float(errors[on_cluster].mean()),
            float(in_interval[on_cluster].mean()),
            float(np.median(widths[on_cluster])),
        )
        for code in np.unique(codes)
        for on_cluster in [codes == code]
    }
    assay_scores = scores(prediction.expected_s[is_answered], seconds[predicted_rows], mean_s)
    scores_of_methods = {
        "assay": replace(
            assay_scores,
            held=float(in_interval.mean()),
            width=width,
            held_min=float(least_held),
            answered=float(is_answered.mean()),
            clusters=clusters,
        )
    }
    features = plain_columns(table)
    for name, method in methods().items():
        if not only or name in only:
            scores_of_methods[name] = scores(
                method(features[training], seconds[training], features[predicted_rows]), seconds[predicted_rows], mean_s
            )
    return scores_of_methods


def print_scores(title: str, splits: Sequence[dict[str, Scores]]) -> None:
    """Print the means over splits."""
    print(f"\n**{title}**\n\n| method | MAE (s) | RAE | MAPE | held | held, least workload | width | answered |")
    print("|---|---|---|---|---|---|---|---|")
    for name in splits[0]:
        rows = [split[name] for split in splits if name in split]
        mae_s, rae, mape = (float(np.mean([getattr(row, key) for row in rows])) for key in ("mae_s", "rae", "mape"))
        cells = [f"{mae_s:,.0f}", f"{rae:.2f}", f"{mape:.1%}"]
        if name == "assay":
            held, least_held, width, answered = (
                float(np.mean([getattr(row, key) for row in rows])) for key in ("held", "held_min", "width", "answered")
            )
            cells += [f"{held:.1%}", f"{least_held:.1%}", f"{width:.2f}×", f"{answered:.0%}"]
        else:
            cells += ["", "", "", ""]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def print_clusters(splits: Sequence[dict[str, Scores]]) -> None:
    """Print assay's figures by cluster, means over splits."""
    print("\n| cluster | runs left out, each split | MAPE | held | width |\n|---|---|---|---|---|")
    for name in sorted({name for split in splits for name in split["assay"].clusters}):
        rows = [split["assay"].clusters[name] for split in splits if name in split["assay"].clusters]
        runs, mape, held, width = np.mean(rows, axis=0)
        print(f"| {name} | {runs:,.0f} | {mape:.1%} | {held:.1%} | {width:.2f}× |", flush=True)


def runs_of_dump(paths: Sequence[Path]) -> RunTable:
    """Return the dump's valid runs, with the clusters' hardware."""
    items = FORMAT.read([Source(path, path.name) for path in paths])
    runs = [item.run for item in items if isinstance(item, ImportedRun)]
    table = table_of(runs)
    all_runs = replace(
        table, values={**table.values, **hardware_values([run.recorded.hardware for run in runs], shipped_instances())}
    )
    return all_runs.subset(usable(all_runs))


def row_splits(table: RunTable) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield ALOJA-ML's kind of split: a quarter of the runs left out, learned from a half and from three quarters.

    Runs are drawn one by one, so that repetitions of a configuration may be on both sides.
    """
    order = np.random.default_rng(HELD_OUT_SEED).permutation(len(table))
    left_out = order[: len(table) // 4]
    yield "half of the runs", order[len(table) // 2 :], left_out
    yield "three quarters of the runs", order[len(table) // 4 :], left_out


def random_splits(table: RunTable, times: int, share: float = 0.2) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows to learn from and rows left out, by configuration."""
    groups = groups_by(table, table.factors)
    for seed in range(times):
        is_left_out = np.random.default_rng(seed).random(groups.count) < share
        yield np.flatnonzero(~is_left_out[groups.of_row]), np.flatnonzero(is_left_out[groups.of_row])


def level_splits(table: RunTable, name: str, runs_min: int) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield each level of a column with enough runs: the other rows, and its own rows."""
    column = table.columns[name]
    for code, level in enumerate(column.levels):
        is_left_out = column.codes == code
        if is_left_out.sum() >= runs_min:
            yield level, np.flatnonzero(~is_left_out), np.flatnonzero(is_left_out)


def with_device_classes(table: RunTable) -> RunTable:
    """Return the table with the layout's classes of disks as the column ``plan``, which does not count as a factor."""
    column = table.columns[LAYOUT_DEVICES]
    kinds = tuple("".join(c for c in level if not c.isdigit()).strip().replace(" ", "") for level in column.levels)
    unique = tuple(dict.fromkeys(kinds))
    codes = np.array([*(unique.index(kind) for kind in kinds), -1], dtype=np.int32)[column.codes]
    return replace(table, columns={**table.columns, "plan": type(column)(codes, unique)})


def with_known_runs(table: RunTable, count: int) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield each cluster with ``count`` of its runs, picked at random, among the training runs."""
    for level, training, left_out_rows in level_splits(table, "cluster", 100):
        known_rows = np.random.default_rng(0).choice(left_out_rows, count, replace=False)
        yield level, np.concatenate([training, known_rows]), np.setdiff1d(left_out_rows, known_rows)


def print_left_out_clusters(table: RunTable) -> None:
    """Print a table for each cluster that is left out."""
    for level, training, left_out_rows in level_splits(table, "cluster", 100):
        print_scores(
            f"cluster {level} left out ({len(left_out_rows):,} runs)",
            [scores_by_method(table, training, left_out_rows)],
        )


def print_dump(table: RunTable, repeats: int) -> None:
    """Print the tables for ALOJA's dump."""
    started = time.perf_counter()
    model = learn(table)
    took_s = time.perf_counter() - started
    first_run = table.subset(np.array([0]))
    started = time.perf_counter()
    for _ in range(50):
        predict(model, first_run)
    predict_ms = (time.perf_counter() - started) / 50 * 1000
    print(
        f"{len(table):,} valid runs of {len(model.median_logs):,} configurations; learned in {took_s:.1f} s,", end=" "
    )
    print(f"a prediction takes {predict_ms:.1f} ms")
    for share, training, left_out_rows in row_splits(table):
        split = scores_by_method(table, training, left_out_rows)
        print_scores(
            f"a quarter of the runs left out ({len(left_out_rows):,}), learned from {share} ({len(training):,})",
            [split],
        )
        print_clusters([split])
    splits = [
        scores_by_method(table, training, left_out_rows) for training, left_out_rows in random_splits(table, repeats)
    ]
    print_scores(f"{repeats} random splits, a fifth of the configurations left out", splits)
    print_clusters(splits)
    print_left_out_clusters(table)
    for level, training, left_out_rows in level_splits(with_device_classes(table), "plan", 30):
        print_scores(
            f"disks {level} left out ({len(left_out_rows):,} runs)", [scores_by_method(table, training, left_out_rows)]
        )
    for level, training, left_out_rows in with_known_runs(table, KNOWN_RUNS):
        split = scores_by_method(table, training, left_out_rows, ["gradient boosting, plain"])
        print_scores(f"cluster {level}, {KNOWN_RUNS} of its runs known", [split])


def corrected(logs: Floats, truth: Floats, groups: NDArray[np.int64]) -> Floats:
    """Return the predictions without the median error of each group, which only an oracle knows."""
    result = logs.copy()
    for group in np.unique(groups):
        result[groups == group] += np.median((truth - logs)[groups == group])
    return result


def print_oracle(table: RunTable) -> None:
    """Print the error on a left-out cluster that remains if its speed is known."""
    from sklearn.ensemble import GradientBoostingRegressor

    seconds, features = table.values["duration_s"], plain_columns(table)
    configurations = groups_by(table, table.factors).of_row
    header = "a line and trees: MAE (s) | MAPE | the cluster's level known | each workload's level known"
    boosting_header = "plain gradient boosting, each workload's level known"
    print(f"| cluster left out | {header} | {boosting_header} | repetitions, from their median (n) |")
    print("|---|---|---|---|---|---|---|")
    for level, training, left_out_rows in level_splits(table, "cluster", 100):
        model = learn(table.subset(training))
        logs = model.transfers["cluster"].logs(model.encoding.of(table.subset(left_out_rows)))
        boosting = GradientBoostingRegressor(random_state=0).fit(features[training], seconds[training])
        boosted_logs = np.log(np.maximum(boosting.predict(features[left_out_rows]), 1.0))
        truth, workload = (
            np.log(seconds[left_out_rows]),
            table.columns["workload"].codes[left_out_rows].astype(np.int64),
        )
        one_group = np.zeros(len(left_out_rows), dtype=np.int64)
        estimates = (
            logs,
            corrected(logs, truth, one_group),
            corrected(logs, truth, workload),
            corrected(boosted_logs, truth, workload),
        )
        mae_s = [float(np.abs(np.exp(estimate) - seconds[left_out_rows]).mean()) for estimate in estimates]
        keys = configurations[left_out_rows]
        is_repeated = np.isin(keys, np.flatnonzero(np.bincount(keys) > 1))
        medians = corrected(np.zeros(len(left_out_rows)), truth, keys)
        scatter_s = float(np.abs(np.exp(medians) - seconds[left_out_rows])[is_repeated].mean())
        mape = float(np.abs(np.expm1(logs - truth)).mean())
        cells = [f"{mae_s[0]:,.0f}", f"{mape:.1%}", *(f"{estimate:,.0f}" for estimate in mae_s[1:])]
        print(f"| {level} | {' | '.join(cells)} | {scatter_s:,.0f} ({is_repeated.sum()}) |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tables", type=Path, nargs="*", help="ALOJA's execs table as CSV, and its list of clusters")
    parser.add_argument("--worlds", action="store_true", help="also tables that are made from a formula")
    parser.add_argument("--oracle", action="store_true", help="only: left-out clusters whose level is known")
    parser.add_argument("--clusters", action="store_true", help="only: each cluster left out")
    parser.add_argument("--repeats", type=int, default=5, help="random splits")
    options = parser.parse_args()
    if options.tables and options.oracle:
        print_oracle(runs_of_dump(options.tables))
    elif options.tables and options.clusters:
        print_left_out_clusters(runs_of_dump(options.tables))
    elif options.tables:
        print_dump(runs_of_dump(options.tables), options.repeats)
    elif not options.worlds:
        print("left out: it needs ALOJA's table of runs and its list of clusters as its arguments")
    if options.worlds:
        for seed in (1, 2):
            drawn_table = world(seed=seed)
            splits = [
                scores_by_method(drawn_table, training, left_out_rows)
                for _, training, left_out_rows in level_splits(drawn_table, "cluster", 100)
            ]
            print_scores(f"made from a formula (seed {seed}): each of 12 clusters left out", splits)
        large_table = world(clusters=40, runs=1000)
        started = time.perf_counter()
        learn(large_table)
        print(f"\n{len(large_table):,} runs learned in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
