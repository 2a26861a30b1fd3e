"""Choose instance types by their hardware and price, and state the hardware catalogue and price book that they make.

In: filters, chosen types, and the facts that no table states. Out: :class:`InstanceChoice`: the matching types with
their known prices per hour, and the texts that ``assay recommend`` and ``assay size`` read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.foundation.errors import AssayError, SpecificationError
from assay.foundation.units import parse_money
from assay.model.clusters.instance_type import InstanceType, node_type_name
from assay.questions.recommendation.catalogues import PRICES_FILE
from assay.questions.recommendation.instances import (
    CatalogueRequest,
    InstanceRequest,
    catalogue_text,
    compared_types,
    list_instances,
    one_instance,
)
from assay.specs.instances import parse_volumes
from assay.specs.prices import date_of_option, load_prices
from assay.store.formats.instance_prices import VolumePrice, instance_price_book

TYPES_MAX = 12
"""Maximum number of chosen types, so that an address can contain their catalogue."""
SHOWN_MAX = 50
"""Maximum number of listed types."""
CURRENCY = "USD"


@dataclass(frozen=True, slots=True)
class InstanceChoiceRequest:
    """Filters, chosen types and their facts, as users write them. An empty text states nothing."""

    filters: InstanceRequest = field(default_factory=InstanceRequest)
    max_price: str = ""
    """Maximum price of an instance per hour: ``$1``."""
    types: tuple[str, ...] = ()
    count: str = "4-12"
    cpu_speeds: Mapping[str, str] | None = None
    """Architecture to ``SPEED`` or ``SPEED:LOW:HIGH``."""
    disk_rates: Mapping[str, str] | None = None
    """Kind of local disk to ``READ:WRITE``."""
    volumes: str = ""
    volume_price: str = ""
    """Price of the volumes per GiB and month: ``$0.08``. Empty: the price book has none."""
    iops_price: str = ""
    """Price of each provisioned IOPS per month: ``$0.065``. Volumes with provisioned IOPS need it."""
    extra_prices: Mapping[str, str] | None = None
    """Price of storage that outlives the job, per GB and month, and of egress, per GB. Empty: not in the book."""
    prices: Mapping[str, str] | None = None
    """Instance type to its price per hour, where it is not the known price."""
    date: str = ""
    """Date of the prices."""


@dataclass(frozen=True, slots=True)
class PricedInstance:
    """An instance type with its known price."""

    instance: InstanceType
    price: Decimal | None
    """US dollars per hour; None if no price book has it."""


@dataclass(frozen=True, slots=True)
class InstanceChoice:
    """The answer. The texts are empty without chosen types, and if ``problem`` says what is missing."""

    matching: tuple[PricedInstance, ...]
    """The first matching types that are not chosen."""
    matches: int
    """Number of matching types."""
    total: int
    chosen: tuple[PricedInstance, ...]
    compared: tuple[str, ...] = ()
    """Names of the chosen types that the catalogue has; it omits those with an unknown rate of local disks."""
    assumptions: tuple[str, ...] = ()
    """Assumptions of the catalogue."""
    catalogue_text: str = ""
    prices_text: str = ""
    problem: AssayError | None = None


def known_prices(folders: Iterable[Path]) -> dict[str, Decimal]:
    """Return node type to its price per hour, from the price books in US dollars of stored catalogues."""
    prices: dict[str, Decimal] = {}
    for folder in folders:
        try:
            book = load_prices(folder / PRICES_FILE)
        except AssayError:
            continue  # a catalogue with a damaged price book is reported where it is used
        for item in book.items if book.currency == CURRENCY else ():
            if item.per == "node-hour" and item.node_type:
                prices.setdefault(item.node_type, item.amount)
    return prices


def choose_instances(request: InstanceChoiceRequest, known_prices: Mapping[str, Decimal]) -> InstanceChoice:
    """Return the matching types and the files of the chosen types. Raises SpecificationError for an invalid filter."""
    listing = list_instances(request.filters)
    price_max = _amount(request.max_price, "max_price") if request.max_price else None
    priced_instances = [PricedInstance(kind, known_prices.get(node_type_name(kind.name))) for kind in listing.instances]
    if price_max is not None:
        priced_instances = [item for item in priced_instances if item.price is not None and item.price <= price_max]
    other_types = [item for item in priced_instances if item.instance.name not in request.types]
    choice = InstanceChoice(tuple(other_types[:SHOWN_MAX]), len(priced_instances), listing.total, ())
    if not request.types:
        return choice
    chosen_types: list[PricedInstance] = []
    try:
        if len(request.types) > TYPES_MAX:
            raise SpecificationError(f"at most {TYPES_MAX} types can be chosen", where="type")
        for name in dict.fromkeys(request.types):
            instance = one_instance(name)
            text = (request.prices or {}).get(name, "")
            price = _amount(text, f"price of {name}") if text else known_prices.get(node_type_name(name))
            chosen_types.append(PricedInstance(instance, price))
        files = _catalogue_request(request, chosen_types)
        compared_names = tuple(item.name for item in compared_types(files))
        hardware = catalogue_text(files)
        book = _price_book(request, [item for item in chosen_types if item.instance.name in compared_names])
    except AssayError as error:
        return InstanceChoice(choice.matching, choice.matches, choice.total, tuple(chosen_types), problem=error)
    return replace(
        choice,
        chosen=tuple(chosen_types),
        compared=compared_names,
        assumptions=catalogue_of(hardware).assumptions,
        catalogue_text=hardware,
        prices_text=book,
    )


def _catalogue_request(request: InstanceChoiceRequest, chosen_types: list[PricedInstance]) -> CatalogueRequest:
    architectures = {item.instance.architecture for item in chosen_types}
    kinds = {str(item.instance.disks.kind) for item in chosen_types if item.instance.disks}
    speeds, rates = request.cpu_speeds or {}, request.disk_rates or {}
    return CatalogueRequest(
        types=tuple(item.instance.name for item in chosen_types),
        count=request.count,
        disk_rates=tuple(f"{kind}={text}" for kind, text in rates.items() if text and kind in kinds),
        volumes=request.volumes,
        cpu_speeds=tuple(f"{name}={text}" for name, text in speeds.items() if text and name in architectures),
    )


def _price_book(request: InstanceChoiceRequest, chosen_types: list[PricedInstance]) -> str:
    prices = {item.instance.name: [item.price] for item in chosen_types if item.price is not None}
    if unpriced_names := [item.instance.name for item in chosen_types if item.price is None]:
        message = f"no stored price book has the price of {', '.join(unpriced_names)}"
        raise SpecificationError(message, where="price", hint="state its price per hour: $0.50")
    book = instance_price_book(
        prices,
        master=chosen_types[0].instance.name,
        region="chosen",
        spot=False,
        source="stated by the user",
        date=date_of_option(request.date, "date"),
        volumes=volume_price_of(
            request.volumes, request.volume_price, request.iops_price, ("volumes", "volume_price", "iops_price")
        ),
        extras=extra_prices_of(request.extra_prices or {}),
    )
    return book.replace(" per hour in chosen.", " per hour, as stated.").replace("chosen-on-demand", "chosen-instances")


def volume_price_of(volumes: str, price: str, iops_price: str, where: tuple[str, str, str]) -> VolumePrice | None:
    """Return the volumes ``TYPE:SIZE:COUNT[:IOPS]`` with their prices; None without a price.

    ``where``: the names of the three texts in messages. Raises SpecificationError for an invalid text, for a price
    without volumes, and if only one of the prices of provisioned volumes is stated.
    """
    if not price and not iops_price:
        return None
    if not volumes:
        raise SpecificationError("a price of volumes needs their type and size", where=where[0], hint="gp3:1TB:4")
    disk = parse_volumes(volumes, where[0])
    if not price:
        raise SpecificationError("the price per GiB and month is missing", where=where[1], hint="such as $0.125")
    if disk.iops is None:
        if iops_price:
            raise SpecificationError(f"{disk.name} volumes have no provisioned IOPS to price", where=where[2])
        return VolumePrice(disk, _amount(price, where[1]))
    if not iops_price:
        raise SpecificationError(
            f"{disk.name} volumes also need the price of each provisioned IOPS per month",
            where=where[2],
            hint="such as $0.065",
        )
    return VolumePrice(disk, _amount(price, where[1]), _amount(iops_price, where[2]))


def extra_prices_of(texts: Mapping[str, str]) -> dict[str, Decimal]:
    """Return the stated prices of extras. Raises SpecificationError for a text that is not a price."""
    return {name: _amount(text, f"price of {name}") for name, text in texts.items() if text}


def _amount(text: str, where: str) -> Decimal:
    try:
        amount = Decimal(parse_money(text.removesuffix("/h"), CURRENCY).amount)
    except ValueError as error:
        raise SpecificationError(str(error), where=where, hint="such as $0.50") from error
    if amount <= 0:
        raise SpecificationError("a price must be more than 0", where=where)
    return amount
