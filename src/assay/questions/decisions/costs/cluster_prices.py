"""Compute the prices of the clusters behind a decision: each is the price of a configuration that runs used.

In: estimates of cost per job, the hourly cost of each run, and the runs of each option. Out: :class:`ClusterPrice` for
each option and configuration, and the prices of two options in one setting. No price is a mean over configurations: no
cluster has a mean price.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.option_estimates import OptionEstimates
from assay.analysis.statistics import Ints
from assay.model import NETWORK_FACTOR, YEAR_H, NetworkKind, network_kind_of_name
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.questions.decisions.decision import ClusterPrice


@dataclass(frozen=True, slots=True)
class ComparedPrices:
    """Prices of a cluster with the baseline and with an option, in one setting that both share."""

    setting: dict[str, str]
    """Levels of the setting in which the prices of the decision differ."""
    baseline: ClusterPrice
    option: tuple[ClusterPrice, ...]
    """Several where the option has several kinds of hardware in this setting, the lowest price first."""
    settings: tuple[ClusterPrice, ...]
    """The prices of both in every setting that they share; empty where they share none."""

    @property
    def is_equal(self) -> bool:
        """Whether the option's cluster has the baseline's price."""
        return all(np.isclose(price.price, self.baseline.price) for price in self.option)

    def same_work(self, price_ratio: float) -> float:
        """Return the price whose product with a cost ratio is the cost of the baseline's work on the option.

        ``price_ratio``: price of the option / of the baseline, in the mean over the settings. The price ratio of this
        setting replaces it, so that the cost agrees with the two prices.
        """
        return self.option[0].price / price_ratio if len(self.option) == 1 else self.baseline.price


def cluster_prices_of(
    estimates: OptionEstimates, costs: RunCosts, rows_of_options: Mapping[int, Ints]
) -> tuple[ClusterPrice, ...]:
    """Return the prices of each option (code in the run table: rows of its runs), most runs first."""
    rows_of_all = np.concatenate(list(rows_of_options.values()))
    groups = estimates.matched.table_groups.of_row[rows_of_all]
    configuration_of_row = costs.configuration_of_run[rows_of_all]
    names = list(dict.fromkeys(name for levels in costs.configurations for name in levels))
    fixed_names = [
        name
        for name in names
        if _is_fixed([levels.get(name) for levels in costs.configurations], configuration_of_row, groups)
    ]
    options = estimates.matched.table.columns[estimates.matched.factor].levels
    prices = []
    for option, rows in rows_of_options.items():
        numbers, first, runs = np.unique(costs.configuration_of_run[rows], return_index=True, return_counts=True)
        configurations = [costs.configurations[number] for number in numbers.tolist()]
        varied_names = [name for name in names if len({levels.get(name) for levels in configurations}) > 1]
        prices += [
            ClusterPrice(
                option=options[option],
                setting={name: level for name, level in levels.items() if name in fixed_names},
                hardware={
                    name: level for name, level in levels.items() if name in varied_names and name not in fixed_names
                },
                price=float(costs.per_h[rows[row]]) * costs.years * YEAR_H,
                runs=number,
            )
            for levels, row, number in zip(configurations, first.tolist(), runs.tolist(), strict=True)
        ]
    return tuple(sorted(prices, key=lambda price: -price.runs))


def compared_prices(prices: Sequence[ClusterPrice], baseline: str, option: str) -> ComparedPrices:
    """Return the prices of the baseline and an option in the setting that most runs of the two share.

    If the two share settings on Ethernet, which is the baseline of questions on networks, it is one of these. Where no
    setting is shared, each has the price in its own setting with most runs, by the same rule.
    """
    baseline_prices, option_prices = (
        [price for price in prices if price.option == name] for name in (baseline, option)
    )
    shared_keys = {_key(price) for price in baseline_prices} & {_key(price) for price in option_prices}
    shared_prices = [price for price in (*baseline_prices, *option_prices) if _key(price) in shared_keys]
    setting = _setting_of(shared_prices or baseline_prices)
    setting_prices = [
        price for price in option_prices if _key(price) == (setting if shared_keys else _setting_of(option_prices))
    ]
    baseline_price = next(price for price in baseline_prices if _key(price) == setting)
    varied_names = {
        name for price in prices for name in price.setting if len({p.setting.get(name) for p in prices}) > 1
    }
    return ComparedPrices(
        setting={name: level for name, level in baseline_price.setting.items() if name in varied_names},
        baseline=baseline_price,
        option=tuple(sorted(setting_prices, key=lambda price: price.price)),
        settings=tuple(shared_prices),
    )


def _key(price: ClusterPrice) -> tuple[tuple[str, str], ...]:
    return tuple(price.setting.items())


def _setting_of(prices: Iterable[ClusterPrice]) -> tuple[tuple[str, str], ...]:
    """Return the setting with the most runs, of those without InfiniBand if there are any."""
    runs: Counter[tuple[tuple[str, str], ...]] = Counter()
    for price in prices:
        runs[_key(price)] += price.runs

    def rank(setting: tuple[tuple[str, str], ...]) -> tuple[bool, int]:
        network = dict(setting).get(NETWORK_FACTOR, "")
        return network_kind_of_name(network) is not NetworkKind.INFINIBAND, runs[setting]

    return max(runs, key=rank)


def _is_fixed(levels: Sequence[str | None], configuration_of_row: Ints, groups: Ints) -> bool:
    """Return whether a factor has one level within each matched group. ``levels``: its level by configuration."""
    level_of_group: dict[int, str | None] = {}
    pairs = np.unique(np.stack([groups, configuration_of_row]), axis=1).T.tolist()
    return all(level_of_group.setdefault(group, levels[number]) == levels[number] for group, number in pairs)
