"""``assay prices``: compare storage prices, and convert lists of prices to price books."""

from pathlib import Path
from typing import Any

import click

from assay.analysis.cost.storage import Setup
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.command_classes import AssayGroup
from assay.interfaces.cli.common import all_option, json_option, print_json, print_rows, row_limit
from assay.questions.clusters.storage import StorageView, storage_view
from assay.questions.json_values import json_value
from assay.text import NO_VALUE, money, rate, ratio

BOOK = click.argument("book", type=click.Path(path_type=Path, dir_okay=False))


@click.group("prices", cls=AssayGroup)
def prices() -> None:
    """Compare the storage of a price book, or convert a list of prices to a price book."""


def _setup(setup: Setup, currency: str) -> tuple[str, ...]:
    return (
        setup.name,
        money(setup.price, currency),
        f"{setup.capacity_tb.normalize():f}",
        rate(float(setup.bandwidth_mb_per_s)),
        money(setup.per_tb, currency),
        money(setup.per_mb_per_s, currency),
    )


def _as_json(view: StorageView) -> dict[str, Any]:
    content: dict[str, Any] = json_value(view)
    for device, setup in zip(content["devices"], view.devices, strict=True):
        device |= {"per_tb": json_value(setup.per_tb), "per_mb_per_s": json_value(setup.per_mb_per_s)}
    return content


@prices.command("storage")
@BOOK
@click.option("--baseline", help="Device to compare with, by name or kind. Default: the first.")
@click.option(
    "--gain",
    type=click.FloatRange(min=0, min_open=True),
    help="Mean speedup of jobs at equal bandwidth: adds the cost per performance.",
)
@all_option
@json_option
def storage(book: Path, baseline: str | None, gain: float | None, all_rows: bool, as_json: bool) -> None:
    """Compare cost per capacity and per performance, at equal bandwidth and at equal cost."""
    from assay.specs import load_prices

    view = storage_view(load_prices(book), baseline=baseline, gain=gain)
    if as_json:
        print_json(_as_json(view))
        return
    limit = row_limit(all_rows)
    for comparison in view.against[:limit]:
        performance_text = (
            "" if (cost := comparison.cost_per_performance) is None else f" and {ratio(cost)} the cost per performance"
        )
        click.echo(
            f"{comparison.candidate.name}: {ratio(comparison.per_tb_ratio)} the cost per TB{performance_text} "
            f"of {view.baseline}."
        )
    if view.against:
        click.echo()
    headers = ("Device", "Price", "Capacity (TB)", "Bandwidth (MB/s)", "Per TB", "Per MB/s")
    devices = [_setup(setup, view.currency) for setup in view.devices]
    print_rows(headers, devices, limit=limit, title=f"Prices: {view.book}")
    for title, attribute in (("equal bandwidth", "equal_bandwidth"), ("equal cost", "equal_cost")):
        rows = [
            _setup(setup, view.currency)
            for comparison in view.against
            for setup in (comparison.candidate, getattr(comparison, attribute))
        ]
        if rows:
            click.echo()
            print_rows(headers, rows, limit=limit, title=f"At {title}")
    if view.against:
        click.echo()
        cells = [
            (
                a.candidate.name,
                a.equal_bandwidth.name,
                ratio(a.price_ratio),
                ratio(a.per_tb_ratio),
                ratio(view.gain) if view.gain else NO_VALUE,
                ratio(a.cost_per_performance),
            )
            for a in view.against
        ]
        print_rows(
            ("Device", "Compared with", "Price ratio", "Cost per capacity", "Mean gain", "Cost per performance"),
            cells,
            limit=limit,
            title="Cost per performance = price ratio / mean gain",
        )


@prices.command("aloja")
@click.argument("clusters", metavar="FILE|DIRECTORY", type=click.Path(path_type=Path))
@click.option(
    "--date", default="2015-10-01", show_default=True, help="Date of the prices, which the list does not record."
)
def aloja(clusters: Path, date: str) -> None:
    """Print ALOJA's list of clusters as a price book; comments list the clusters without a price.

    FILE is the list (CSV). DIRECTORY is a repository that has the list from an import, or a folder with
    aloja-clusters.csv.
    """
    from assay.specs.prices import date_of_option
    from assay.store.formats.aloja.clusters import parse_clusters
    from assay.store.formats.aloja.price_book import price_book_text
    from assay.store.formats.source import Source

    day = date_of_option(date, "--date")
    path, name = _price_list(clusters)
    text = Source(path, name).text()
    click.echo(price_book_text(parse_clusters(text, name), source=name, date=day), nl=False)


def _price_list(path: Path) -> tuple[Path, str]:
    """Return ALOJA's list of clusters and its name in messages; ``path``: the list, its folder, or a repository."""
    from assay.store import Repository
    from assay.store.exchange.imports import imported_file
    from assay.store.formats.aloja.clusters import FILE_NAME

    if not path.is_dir():
        return path, path.name
    list_path: Path | None = path / FILE_NAME
    if Repository.is_at(path):
        list_path = imported_file(Repository.open(path).folders.bundles, "aloja", FILE_NAME)
    if list_path is None or not list_path.exists():
        raise SpecificationError(
            f"there is no {FILE_NAME} in this {'repository' if list_path is None else 'folder'}",
            where=str(path),
            hint="name ALOJA's list of clusters itself, or import it together with its runs",
        )
    return list_path, FILE_NAME


@prices.command("instances")
@click.argument("table", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--region", required=True, help="Region of the provider, such as us-east-1.")
@click.option("--type", "types", multiple=True, required=True, help="Instance type to price; repeatable.")
@click.option("--master", default=None, metavar="TYPE", help="Instance type of masters. Default: the first --type.")
@click.option("--spot", is_flag=True, help="Use spot prices instead of on-demand prices.")
@click.option("--date", default="", help="Date of the prices: 2026-11-27. Default: that of an AWS offer file.")
@click.option(
    "--volumes", default="", metavar="TYPE:SIZE:COUNT[:IOPS]", help="Network volumes of each worker: gp3:1TB:4."
)
@click.option("--volume-price", default="", metavar="MONEY", help="Price of these volumes per GiB and month: '$0.08'.")
@click.option("--iops-price", default="", metavar="MONEY", help="Price of an IOPS of io2 per month: '$0.065'.")
@click.option("--storage-price", default="", metavar="MONEY", help="Price of kept storage per GB and month: '$0.023'.")
@click.option("--egress-price", default="", metavar="MONEY", help="Price of data sent out per GB: '$0.09'.")
def instances(table: Path, region: str, types: tuple[str, ...], spot: bool, date: str, **options: str) -> None:
    """Print a price list of instance types (CSV) as a price book with prices per hour.

    TABLE is a list in the form of skypilot-catalog (vms.csv), or AWS's offer file of AmazonEC2 (index.csv).
    The list has no network volumes: state their price with --volumes and --volume-price. The prices of kept storage
    and of egress count only in answers with --extra-costs.
    """
    from assay.model.clusters.price_book import EXTRAS
    from assay.questions.recommendation.instance_choice import extra_prices_of, volume_price_of
    from assay.specs.prices import date_of_option
    from assay.store.formats.instance_prices import instance_price_book, parse_instance_prices
    from assay.store.formats.source import Source

    volumes = volume_price_of(
        options["volumes"],
        options["volume_price"],
        options["iops_price"],
        ("--volumes", "--volume-price", "--iops-price"),
    )
    extras = extra_prices_of({name: options[f"{name}_price"] for name in EXTRAS})
    master = options["master"] or types[0]
    type_names = list(dict.fromkeys([*types, master]))
    lines = (line.decode("utf-8-sig", "replace") for line in Source(table, table.name).lines())
    prices = parse_instance_prices(lines, table.name, region=region, types=type_names, spot=spot)
    if not (date or prices.date):
        raise SpecificationError("the list has no date", where=table.name, hint="state it: --date 2026-11-27")
    day = date_of_option(date or prices.date, "--date")
    click.echo(
        instance_price_book(
            prices.per_h,
            master=master,
            region=region,
            spot=spot,
            source=table.name,
            date=day,
            volumes=volumes,
            extras=extras,
        ),
        nl=False,
    )
