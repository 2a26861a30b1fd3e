"""Prepare a recommendation or a size on a server: find the catalogue, and check the request before the search starts.

In: a request, and folders with catalogues. Out: a function that searches.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.planning.plan_files.hardware_file import catalogue_of, load_catalogue
from assay.foundation.errors import FormatError, SpecificationError
from assay.foundation.installation import installation
from assay.foundation.progress import Progress
from assay.model import HardwareCatalogue, PriceBook
from assay.model.clusters.instance_type import node_type_name
from assay.questions.costs.mix import parse_mix
from assay.questions.forecasts.learning import ProfileRequest
from assay.questions.recommendation.job_logs import read_job_logs
from assay.questions.recommendation.measured_types import sources_from
from assay.questions.recommendation.recommend import Recommendation, recommend
from assay.questions.recommendation.request import SIMULATIONS, RecommendRequest
from assay.questions.recommendation.size import SizeAnswer, SizeRequest, describe_job, size
from assay.specs.fields import unknown
from assay.specs.instances import shipped_instances
from assay.specs.prices import date_of_option, load_prices, prices_of
from assay.store.formats.instance_prices import instance_price_book, parse_instance_prices

CATALOGUE_FILE, PRICES_FILE = "catalogue.yaml", "prices.yaml"
_NAME_LENGTH_MAX = 300
"""Maximum length of an unknown catalogue's name in a message, in characters."""
_TEXT_LENGTH_MAX = 1_000_000
"""Maximum length of a catalogue or price book in a request, in characters."""


def stored_catalogues(folders: Iterable[Path], *, with_examples: bool = True) -> dict[str, Path]:
    """Return the folders that hold a catalogue and its price book, by name; example folders last, or left out."""
    catalogues: dict[str, Path] = {}
    examples = installation().examples if with_examples else None
    for folder in (*folders, *([examples] if examples else [])):
        for file in sorted(folder.glob(f"*/{CATALOGUE_FILE}")):
            if (file.parent / PRICES_FILE).is_file():
                catalogues.setdefault(file.parent.name, file.parent)
    return catalogues


def has_example_prices(catalogue: Path) -> bool:
    """Return whether the folder of a catalogue is one of assay's examples."""
    examples = installation().examples
    return examples is not None and catalogue.resolve().is_relative_to(examples.resolve())


def prepare(
    request: RecommendRequest, catalogues: Mapping[str, Path], root: Path
) -> Callable[[SimulatorPool, Progress | None], Recommendation]:
    """Return the search for a request. If the request learns, it learns from the repository at ``root``.

    Raises SpecificationError for a request that no search can answer.
    """
    parse_mix(request.workloads)
    hardware, book = hardware_and_prices(request, catalogues)
    request.constraints(book)
    if not 1 <= request.simulations <= SIMULATIONS:
        raise SpecificationError(f"a server simulates 1 to {SIMULATIONS} clusters per search", where="simulations")
    source = ProfileRequest(learn_from=root if request.learn else None, where=request.where)
    return lambda pool, progress: recommend(request, hardware, book, sources_from(source), pool, progress)


@dataclass(frozen=True, slots=True)
class UploadedLogRequest(SizeRequest):
    """A size from logs that a server has received. Without a catalogue, the answer has no shapes."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    upload: str = ""
    """Key of the upload."""
    catalogue: str = ""
    """Name of a stored catalogue, for requests that carry no ``catalogue_text``."""
    catalogue_text: str = ""
    """A catalogue as YAML; ``prices_text`` has its prices."""
    prices_text: str = ""
    """A price book (YAML), or with ``prices_region`` a price list of instance types (CSV). Empty: the stored
    prices."""
    prices_region: str = ""
    prices_date: str = ""
    """Date of the price list; empty: the date that it states."""
    prices_spot: bool = False
    """Whether the list's spot prices are used."""

    @property
    def has_texts(self) -> bool:
        """Whether it has a catalogue or prices as text, which are too long for an address."""
        return bool(self.catalogue_text.strip() or self.prices_text.strip())

    @property
    def names_hardware(self) -> bool:
        """Whether there is hardware to choose from."""
        return bool(self.catalogue or self.catalogue_text.strip())


def prepare_size(
    request: UploadedLogRequest, folder: Path, catalogues: Mapping[str, Path]
) -> Callable[[SimulatorPool, Progress | None], SizeAnswer]:
    """Return the computation of a size from the logs in ``folder``.

    Raises SpecificationError for a request that can't be answered.
    """
    _ = request.growth, request.interruption_probability_per_h  # both raise for invalid texts
    if not 1 <= request.simulations <= SIMULATIONS:
        raise SpecificationError(f"a server simulates 1 to {SIMULATIONS} clusters per search", where="simulations")
    if not request.names_hardware and (request.deadline or request.budget):
        raise SpecificationError("a deadline or a budget needs a catalogue of hardware: name one", where="catalogue")
    hardware = hardware_and_prices(request, catalogues) if request.names_hardware else None

    def answer(pool: SimulatorPool, progress: Progress | None) -> SizeAnswer:
        try:
            logs = read_job_logs([folder], progress)
        except FormatError as error:  # the path on the server is private
            where = (error.where or "").replace(f"{folder}/", "").replace(str(folder), "the uploaded files")
            raise FormatError(error.message, where=where, hint=error.hint) from error
        return size(logs, request, *hardware, pool, progress) if hardware else describe_job(logs, request)

    return answer


def hardware_and_prices(
    request: RecommendRequest | UploadedLogRequest, catalogues: Mapping[str, Path]
) -> tuple[HardwareCatalogue, PriceBook]:
    """Return the hardware and the prices of a request. Raises SpecificationError."""
    for where, text in (("catalogue_text", request.catalogue_text), ("prices_text", request.prices_text)):
        if len(text) > _TEXT_LENGTH_MAX:
            raise SpecificationError(f"the text has more than {_TEXT_LENGTH_MAX:,} characters", where=where)
    if request.catalogue_text.strip():
        hardware = catalogue_of(request.catalogue_text, CATALOGUE_FILE)
        return hardware, _price_book(request, hardware)
    folder = catalogues.get(request.catalogue)
    if folder is None:
        name = request.catalogue[:_NAME_LENGTH_MAX]
        raise SpecificationError(unknown("catalogue", name, catalogues), where="catalogue")
    hardware = load_catalogue(folder / CATALOGUE_FILE)
    if request.prices_text.strip():
        return hardware, _price_book(request, hardware)
    return hardware, load_prices(folder / PRICES_FILE)


def _price_book(request: RecommendRequest | UploadedLogRequest, hardware: HardwareCatalogue) -> PriceBook:
    """Return the price book of a request: YAML, or a price list (CSV) if a region is named. Raises AssayError."""
    region = request.prices_region.strip()
    if not region:
        return prices_of(request.prices_text, PRICES_FILE)
    names = {node_type_name(name): name for name in shipped_instances()}
    if other_names := [worker.name for worker in hardware.workers if worker.name not in names]:
        raise SpecificationError(
            f"{other_names[0]} is no instance type: a price list has only prices of instance types",
            where="prices_region",
            hint="leave the region empty, and give a price book (YAML)",
        )
    types = [names[worker.name] for worker in hardware.workers]
    lines = request.prices_text.splitlines(keepends=True)
    prices = parse_instance_prices(lines, "prices_text", region=region, types=types, spot=request.prices_spot)
    book = instance_price_book(
        prices.per_h,
        master=types[0],
        region=region,
        spot=request.prices_spot,
        source="price list",
        date=date_of_option(request.prices_date.strip() or prices.date, "prices_date"),
    )
    return prices_of(book, PRICES_FILE)
