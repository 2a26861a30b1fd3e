"""Find the choices of a hardware catalogue that a price book does not price, so that it can't rank clusters by cost.

In: a price book, and the clusters of a catalogue. Out: a :class:`CostObstacle`. Two clusters that differ in one
choice are compared as :mod:`assay.analysis.cost.missing_prices` compares a cluster before and after a change: a
what-if question and a recommendation refuse the same prices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assay.analysis.cost.bills import Parts
from assay.analysis.cost.missing_prices import (
    WORKER_PART,
    PricedCluster,
    device_part,
    missing_price_of_size,
    missing_prices_of,
    named_types,
    reason_of,
)
from assay.analysis.statistics import Mask
from assay.estimation.recommendation.candidates import Candidates, Machine, cluster_of
from assay.foundation.errors import SpecificationError
from assay.foundation.units import format_bytes, format_memory
from assay.model import PriceBook
from assay.text import disk_noun, joined


@dataclass(frozen=True, slots=True)
class CostObstacle:
    """Why a price book can't rank the clusters of a catalogue by cost."""

    sentence: str
    items: tuple[str, ...]
    """The items that would price the choices, as lines of a price book."""

    def refuse(self) -> None:
        """Raise SpecificationError with what to do."""
        items = "".join(f"\n    {item}" for item in self.items)
        parts = (
            f"add such items to the book, with your prices:{items}\n    or leave one option of each in the catalogue"
        )
        other = "minimize the time alone (--minimize time), without a budget and extra costs"
        raise SpecificationError(self.sentence, where="prices", hint=f"{parts}; or {other}")


@dataclass(frozen=True, slots=True)
class _PricedMachine:
    """A kind of machine that the book prices, with its number and the parts of a cluster of it."""

    number: int
    machine: Machine
    parts: Parts


@dataclass(slots=True)
class _UnpricedOptions:
    """The options of each choice that have the same price, over all types of workers."""

    types: list[str] = field(default_factory=list)
    memories_bytes: set[int] = field(default_factory=set)
    networks: dict[str, str] = field(default_factory=dict)
    """Name of a network to its text."""
    disks: dict[str, set[int]] = field(default_factory=dict)
    """Kind of disks to the numbers of them in a worker."""
    workers: set[int] = field(default_factory=set)
    size: str = ""
    """Why the price is that of another number of workers; empty if it is not."""

    def options(self) -> Iterator[tuple[str, str]]:
        """Yield the options of each choice in words, with the item that would price one of them."""
        if self.types:
            kind = self.types[-1]
            yield f"nodes of the types {joined(self.types)}", f'{kind}, price: "$…", per: node, node_type: {kind}'
        if self.memories_bytes:
            level = format_bytes(max(self.memories_bytes)).replace(" ", "")
            texts = joined([format_memory(memory) for memory in sorted(self.memories_bytes)])
            yield f"{texts} of memory per worker", f'{level}, price: "$…", per: worker, when: {{memory: [{level}]}}'
        if self.networks:
            name = list(self.networks)[-1]
            texts = joined(list(self.networks.values()))
            yield f"networks of {texts}", f'{name}, price: "$…", per: port, when: {{network: [{name}]}}'
        for kind, counts in self.disks.items():
            noun = disk_noun(kind)
            texts = joined([str(count) for count in sorted(counts)])
            yield f"{texts} {noun}s per worker", f'{noun}, price: "$…", per: device, device: {kind}'
        if self.workers:
            yield f"{min(self.workers)} to {max(self.workers)} workers", 'worker, price: "$…", per: worker'


def cost_obstacle(
    book: PriceBook, candidates: Candidates, parts: Sequence[Parts], is_priced: Mask
) -> CostObstacle | None:
    """Return why the book can't rank the clusters that it prices by cost; None if every choice has a price.

    ``parts`` and ``is_priced``: by kind of machine. A choice with one option needs no price.
    """
    machines = [
        _PricedMachine(number, machine, parts[number])
        for number, machine in enumerate(candidates.machines)
        if is_priced[number]
    ]
    names = dict.fromkeys(kind.machine.option.name for kind in machines)
    unnamed_types = [name for name in names if name not in named_types(book)]
    unpriced = _UnpricedOptions(types=unnamed_types if len(unnamed_types) > 1 else [])
    for option in candidates.catalogue.workers:
        if option_machines := [kind for kind in machines if kind.machine.option is option]:
            _add_choices(unpriced, book, candidates, option_machines)
    choices = list(unpriced.options())
    if not choices:
        return CostObstacle(unpriced.size, ()) if unpriced.size else None
    options = "; ".join(text for text, _ in choices)
    sentence = f"price book {book.name!r} can't rank these clusters by cost: it has one price for {options}"
    return CostObstacle(sentence, tuple(f"- {{name: {item}}}" for _, item in choices))


def _add_choices(
    unpriced: _UnpricedOptions, book: PriceBook, candidates: Candidates, machines: Sequence[_PricedMachine]
) -> None:
    """Add the choices of one type of worker without a price: memory, network, disks, number of workers."""
    by_memory = {kind.machine.memory_bytes: kind for kind in _with_equal_fields(machines, "network", "layout")}
    if _gaps(book, [_priced_cluster(candidates, kind) for kind in by_memory.values()]):
        unpriced.memories_bytes |= by_memory.keys()
    by_network = {kind.machine.network: kind for kind in _with_equal_fields(machines, "memory_bytes", "layout")}
    if _gaps(book, [_priced_cluster(candidates, kind) for kind in by_network.values()]):
        unpriced.networks |= {name: kind.machine.network_text for name, kind in by_network.items()}
    clusters = [_priced_cluster(candidates, kind) for kind in _with_equal_fields(machines, "memory_bytes", "network")]
    for device_kind in dict.fromkeys(name for cluster in clusters for name in cluster.counts.layout_devices):
        for group in (clusters, *_differ_in_disks(clusters, device_kind)):
            if device_part(device_kind) in _gaps(book, group):
                numbers = {cluster.counts.layout_devices.get(device_kind, 0) for cluster in group}
                unpriced.disks.setdefault(device_kind, set()).update(numbers)
    counts = machines[0].machine.option.counts
    smallest, largest = (_priced_cluster(candidates, machines[0], count) for count in (counts[0], counts[-1]))
    size = missing_price_of_size(book, largest)
    if len(counts) == 1:
        unpriced.size = reason_of(book, (size,)) if size else ""
    elif size or any(part.name == WORKER_PART for part in missing_prices_of(book, smallest, largest)):
        unpriced.workers |= set(counts)


def _with_equal_fields(machines: Sequence[_PricedMachine], *names: str) -> list[_PricedMachine]:
    """Return the machines that have the same fields ``names`` as the first."""
    first = [getattr(machines[0].machine, name) for name in names]
    return [kind for kind in machines if [getattr(kind.machine, name) for name in names] == first]


def _differ_in_disks(clusters: Sequence[PricedCluster], device_kind: str) -> list[list[PricedCluster]]:
    """Return groups of clusters that differ in the number of disks of one kind only."""
    groups: dict[tuple[tuple[str, int], ...], list[PricedCluster]] = {}
    for cluster in clusters:
        devices = cluster.counts.layout_devices
        other_devices = tuple(sorted((kind, count) for kind, count in devices.items() if kind != device_kind))
        groups.setdefault(other_devices, []).append(cluster)
    return list(groups.values())


def _gaps(book: PriceBook, clusters: Sequence[PricedCluster]) -> set[str]:
    """Return the names of the parts without a price in which the clusters differ from the first."""
    parts = [part for cluster in clusters[1:] for part in missing_prices_of(book, clusters[0], cluster)]
    return {part.name for part in parts if part.name != WORKER_PART}


def _priced_cluster(candidates: Candidates, kind: _PricedMachine, workers: int = 1) -> PricedCluster:
    """Return a cluster of one kind of machine without its masters, which are no choice."""
    row = int(np.flatnonzero(candidates.machine == kind.number)[0])
    cluster = cluster_of(candidates, row)
    nodes = tuple(replace(cluster.workers[0], name=f"worker{number}") for number in range(1, workers + 1))
    network = f"{kind.machine.option.networks[kind.machine.network] / 1e9:g}Gbit/s"
    return PricedCluster(replace(cluster, nodes=nodes), kind.machine.layout, network, kind.parts.counts)
