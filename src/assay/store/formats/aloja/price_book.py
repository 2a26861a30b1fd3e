"""Convert ALOJA's list of clusters to a price book.

In: ALOJA's clusters with their prices in US dollars per cluster-hour. Out: the YAML text of a price book in which

    cost = seconds / 3600 × (cluster + remote or hard disks × price of a disk + SSDs × price of an SSD + InfiniBand)

as in ALOJA's ``getExecutionCost`` (github Aloja/aloja, ``aloja-web/inc/Utils.php``). The price of a disk or SSD is the
sum for one device in every worker. Clusters of equal price share an item. A price is omitted if the
list computes it in the shell, if it is 0 for a whole cluster, or if it is a placeholder. Runs on the cluster then have
no price. One comment names such clusters.

The price book differs from ALOJA's code in two points: the code ignores the remote volumes of layouts with an SSD
(RSn), and it reads only one digit of a number of disks.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

from assay.store.formats.aloja.clusters import AlojaCluster
from assay.text import plural

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_PLACEHOLDER_MIN_USD_PER_H = 999
"""Minimum price that is a placeholder. The list has 999 and 1000 for clusters; those of half the size cost 9.44."""
_LOCAL_HDD = ("RL", "NFS")
"""Layouts whose local disk for intermediate data is included in the price of the cluster."""
_DISK_COUNTS = range(1, 13)
_NAMED_MAX = 5
"""Maximum number of clusters without a price that the comment names."""
Price = Callable[[AlojaCluster], float | None]


def _text(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _amount(value: float) -> str:
    return f"${Decimal(repr(value)).normalize():f}"


def _by_price(clusters: Sequence[AlojaCluster], price: Price) -> Mapping[float, list[str]]:
    clusters_by_price: dict[float, list[str]] = {}
    for cluster in clusters:
        value = price(cluster)
        if value is not None:
            clusters_by_price.setdefault(value, []).append(cluster.name)
    return dict(sorted(clusters_by_price.items()))


def _items(
    name: str, per: str, clusters: Sequence[AlojaCluster], price: Price, *more_lines: str, network: str = ""
) -> list[str]:
    lines = []
    for value, names in _by_price(clusters, price).items():
        lines += [
            f"  - name: {name}",
            f"    price: {_amount(value)}",
            f"    per: {per}",
            *(f"    {key}" for key in more_lines),
        ]
        network_condition = f", network: [{network}]" if network else ""
        lines.append(f"    when: {{cluster: [{', '.join(_text(cluster) for cluster in names)}]{network_condition}}}")
    return lines


def _omitted_lines(clusters: Iterable[AlojaCluster]) -> list[str]:
    """Return a comment on omitted prices: the clusters, and the number of surcharges; empty if no price is omitted."""
    names, surcharges = [], 0
    for cluster in clusters:
        price = cluster.cost_usd_per_h
        if price is None or price == 0 or price >= _PLACEHOLDER_MIN_USD_PER_H:
            names.append(_text(cluster.name))
        parts = (cluster.cost_remote_disk_usd_per_h, cluster.cost_ssd_usd_per_h, cluster.cost_ib_usd_per_h)
        surcharges += sum(part is None for part in parts)
    if not names and not surcharges:
        return []
    others_text = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    names_text = f" ({', '.join(names[:_NAMED_MAX])}{others_text})" if names else ""
    text = (
        f"# Not priced in the list: {plural(len(names), 'cluster')}{names_text} and {plural(surcharges, 'surcharge')}."
    )
    return [text.replace("\n", " ")]


def price_book_text(clusters: Sequence[AlojaCluster], *, source: str, date: str) -> str:
    """Return the price book of ``clusters``. ``date``: the date of the prices, which the list lacks."""
    priced_clusters = [
        c for c in clusters if c.cost_usd_per_h is not None and 0 < c.cost_usd_per_h < _PLACEHOLDER_MIN_USD_PER_H
    ]
    local_layouts = ", ".join(["NFS", *(f"{family}{n}" for family in _LOCAL_HDD for n in _DISK_COUNTS)])
    charged_layouts = ", ".join(["HDD", *(f"{family}{n}" for family in ("HD", "HS", "HN") for n in _DISK_COUNTS)])
    lines = [
        f"# ALOJA's prices per cluster-hour, from {source}. The list has no date.",
        "# A surcharge is for one disk in every worker together. Parts of price 0 are in the cluster's price.",
        *_omitted_lines(clusters),
        "prices: aloja",
        "currency: USD",
        f"date: {date}",
        f"source: {json.dumps(f'ALOJA cluster files, {source}', ensure_ascii=False)}",
        "items:",
        *_items("cluster", "cluster-hour", priced_clusters, lambda c: c.cost_usd_per_h, "covers: [nodes, network]"),
        *_items(
            "remote volume",
            "device-set-hour",
            priced_clusters,
            lambda c: c.cost_remote_disk_usd_per_h,
            "device: remote",
        ),
        *_items(
            "hard disk",
            "device-set-hour",
            priced_clusters,
            lambda c: c.cost_remote_disk_usd_per_h,
            "device: hdd",
            f"layouts: [{charged_layouts}]",
        ),
        "  - name: local disk for intermediate data",
        "    price: $0",
        "    per: device-set-hour",
        "    device: hdd",
        f"    layouts: [{local_layouts}]",
        *_items("SSD", "device-set-hour", priced_clusters, lambda c: c.cost_ssd_usd_per_h, "device: ssd"),
        *_items(
            "InfiniBand",
            "cluster-hour",
            priced_clusters,
            lambda c: c.cost_ib_usd_per_h,
            "covers: [network]",
            network="IB",
        ),
        "  - name: network in the cluster's price",
        "    price: $0",
        "    per: cluster-hour",
        "    covers: [network]",
        "    when: {network: [ETH, unknown]}",
    ]
    return "\n".join(lines) + "\n"
