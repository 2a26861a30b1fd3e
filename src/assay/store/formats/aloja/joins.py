"""Join the runs of ALOJA's tables with their clusters in the list, without guessing.

In: a row's fields, the name of its folder (``20131126_115542_conf_IB_SSD_b_m12_i10_r1_I65536/terasort``), and the
clusters of ALOJA's list. Out: the cluster's name and its facts, in the form of a measured run's environment.

A cluster is joined by name if the row has a name, and by id only if the id is unique: the list uses five ids twice. A
folder whose name ends in ``_az`` was created on Azure, even if the id is of another cluster: 142 runs of the dump of
September 2014 have this folder name and id 1, which is an on-premise cluster.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from assay.model import CodedWarning, WarningCode
from assay.store.formats.aloja import codes
from assay.store.formats.aloja.clusters import AlojaCluster

_AZURE: Final = "azure"
_CODED: Final = re.compile(r"^Cl(\d+)$")
"""Notation of an id in ALOJA's wider table, which treats it as a category."""


@dataclass(frozen=True, slots=True)
class JoinedCluster:
    """The cluster of a run: ``facts`` as in the environment of measured runs; ``source``: how it was found."""

    name: str
    facts: Mapping[str, Any]
    source: str
    warnings: tuple[CodedWarning, ...] = ()


class Clusters:
    """ALOJA's list of clusters, by name and by id."""

    def __init__(self, clusters: Sequence[AlojaCluster]) -> None:
        self._by_name = {cluster.name: cluster for cluster in clusters}
        self._by_id: dict[str, list[AlojaCluster]] = {}
        for cluster in self._by_name.values():
            self._by_id.setdefault(str(cluster.cluster_id), []).append(cluster)

    def join(self, fields: Mapping[str, str], location: str) -> JoinedCluster:
        """Return the cluster of a row; ``location``: the cluster in its folder's name."""
        table_name = codes.known_text(fields.get("cluster_name", ""))
        name = table_name or ("" if location == "az" else location)
        table_facts = _table_facts(fields)
        if name:
            list_entry = self._by_name.get(name)
            source = "the cluster's name in the table" if table_name else "the folder's name"
            return JoinedCluster(
                name,
                {"name": name} | (_facts(list_entry) if list_entry else {}) | table_facts,
                _source_text(source, list_entry),
            )
        identity = _CODED.sub(r"\1", codes.known_text(fields.get("cluster", "")))
        if not identity:
            return JoinedCluster("", table_facts, "not recorded in the table")
        joined = self._by_identity(identity, location)
        return JoinedCluster(
            joined.name, {"name": joined.name, **joined.facts, **table_facts}, joined.source, joined.warnings
        )

    def _by_identity(self, identity: str, location: str) -> JoinedCluster:
        candidates = self._by_id.get(identity, [])
        is_azure = location == "az"
        matching_clusters = (
            [cluster for cluster in candidates if cluster.provider == _AZURE] if is_azure else candidates
        )
        names = " and ".join(cluster.name for cluster in candidates)
        if len(candidates) > 1 and is_azure and len(matching_clusters) == 1:
            source = (
                f"the cluster's id {identity} stands for {names}; the folder's name ends in _az, and one is Azure's"
            )
            return JoinedCluster(
                matching_clusters[0].name, _facts(matching_clusters[0]), _source_text(source, matching_clusters[0])
            )
        if len(candidates) > 1:
            why = f"the cluster's id {identity} stands for {names} in ALOJA's list: which one is unknown"
            return JoinedCluster(f"aloja-{identity}", {}, why, _source_warning(why))
        if len(matching_clusters) == 1:
            return JoinedCluster(
                matching_clusters[0].name,
                _facts(matching_clusters[0]),
                _source_text(f"the cluster's id {identity}", matching_clusters[0]),
            )
        if not is_azure:
            return JoinedCluster(f"aloja-{identity}", {}, f"the cluster's id {identity}; no list of clusters names it")
        source = f"the cluster's id {identity}, and the folder's name, which ends in _az: made on Azure"
        if not candidates:
            return JoinedCluster(f"aloja-{identity}-az", {}, source)
        why = f"the cluster's id {identity} is {candidates[0].name}, but the folder's name ends in _az: made on Azure"
        return JoinedCluster(f"aloja-{identity}-az", {}, source, _source_warning(why))


def _source_warning(message: str) -> tuple[CodedWarning, ...]:
    return (CodedWarning(WarningCode.SOURCES_DIFFER, message),)


def _source_text(source: str, list_entry: AlojaCluster | None) -> str:
    return f"{source}, with the facts of {list_entry.where}" if list_entry else source


def _facts(cluster: AlojaCluster) -> dict[str, Any]:
    """Return the list's facts about a cluster. The list has no masters, so the number of nodes is unknown."""
    facts = {
        "workers": cluster.datanodes,
        "provider": cluster.provider,
        "service_type": cluster.service_type,
        "vm_size": cluster.vm_size,
        "vm_os": cluster.vm_os,
        "cores": cluster.cores,
        "ram_gb": cluster.ram_gb,
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _table_facts(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the wider table's facts about a cluster. Raises ValueError for a count that is not a number."""
    facts: dict[str, Any] = {
        name: text
        for name in ("provider", "service_type", "vm_size", "vm_os")
        if (text := codes.known_text(fields.get(name, "")))
    }
    counts = {name: _count(name, fields.get(name, "")) for name in ("datanodes", "headnodes", "cores")}
    for name, column in (("workers", "datanodes"), ("masters", "headnodes"), ("cores", "cores")):
        if (count := counts[column]) is not None:
            facts[name] = count
    if "workers" in facts and "masters" in facts:
        facts["nodes"] = facts["workers"] + facts["masters"]
    if ram := codes.known_text(fields.get("ram_gb", "")):
        if not re.fullmatch(r"\d{1,9}([.,]\d{1,9})?", ram, re.ASCII):
            raise ValueError(f"VM.RAM is {ram[:40]!r}, which is not a number of gigabytes")
        facts["ram_gb"] = float(ram.replace(",", "."))
    return facts


def _count(name: str, text: str) -> int | None:
    text = codes.known_text(text).removesuffix(".0")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise ValueError(f"{name} is {text[:40]!r}, which is not a whole number")
    return int(text)
