"""Access HDFS through WebHDFS, without starting a JVM: list files and replicas, read, write, delete.

In: the NameNode's HTTP endpoint, and paths in HDFS. Out: file listings, sizes in bytes, contents of small files, and
checks of block placement.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from assay.execution.engines.hadoop.jobs.rest import Endpoint, HttpStatusError
from assay.foundation.errors import EngineError
from assay.model import Check, Layout, StoragePolicy, StoredFiles

ROOT = "/assay"
"""The root of all files of assay in HDFS; an attached cluster maps it to another folder."""
_LISTED_MAX = 4
"""Maximum number of combinations of storage types that a check lists."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file or folder: absolute path, length of one copy in bytes."""

    path: str
    is_directory: bool
    length_bytes: int


@dataclass(frozen=True, slots=True)
class Hdfs:
    """A client of one NameNode."""

    namenode: Endpoint
    user: str
    root: str = ROOT
    """The real folder of :data:`ROOT`."""

    def _url(self, path: str, operation: str, **options: str) -> str:
        # On a secured cluster the ticket names the user.
        user = {} if self.namenode.access.is_secured else {"user.name": self.user}
        query = urlencode({"op": operation, **user, **options})
        is_assay_path = path == ROOT or path.startswith(f"{ROOT}/")
        return f"/webhdfs/v1{quote(self.root + path.removeprefix(ROOT) if is_assay_path else path)}?{query}"

    async def _get(self, path: str, operation: str, **options: str) -> dict[str, Any]:
        return await self.namenode.get(self._url(path, operation, **options))

    async def _get_or_none(self, path: str, operation: str) -> dict[str, Any] | None:
        try:
            return await self._get(path, operation)
        except HttpStatusError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def exists(self, path: str) -> bool:
        """Return whether a file or folder exists at ``path``."""
        return await self._get_or_none(path, "GETFILESTATUS") is not None

    async def entries(self, path: str) -> list[FileStatus]:
        """Return the entries of a folder; none if it does not exist."""
        answer = await self._get_or_none(path, "LISTSTATUS")
        if answer is None:
            return []
        return [
            FileStatus(
                path=f"{path.rstrip('/')}/{entry['pathSuffix']}" if entry["pathSuffix"] else path,
                is_directory=entry["type"] == "DIRECTORY",
                length_bytes=int(entry["length"]),
            )
            for entry in answer["FileStatuses"]["FileStatus"]
        ]

    async def files(self, path: str) -> list[FileStatus]:
        """Return every file below ``path``, without markers and hidden files (names that start with ``_`` or ``.``)."""
        statuses: list[FileStatus] = []
        for entry in await self.entries(path):
            name = entry.path.rsplit("/", 1)[-1]
            if entry.is_directory:
                statuses += await self.files(entry.path)
            elif not name.startswith(("_", ".")):
                statuses.append(entry)
        return statuses

    async def paths(self, path: str) -> list[str]:
        """Return the paths of the files below ``path``, without markers."""
        return [file.path for file in await self.files(path)]

    async def stored(self, path: str) -> StoredFiles:
        """Return the data below ``path``, with the bytes of all block replicas known to the NameNode."""
        files = await self.files(path)
        blocks = await self._blocks(files)
        return StoredFiles(
            files=len(files),
            length_bytes=sum(file.length_bytes for file in files),
            replica_bytes=sum(int(block["length"]) * len(block["hosts"]) for block in blocks),
        )

    async def placements(self, layout: Layout, paths: Sequence[str]) -> tuple[Check, ...]:
        """Return the check of the layout's storage policy over all blocks below ``paths``; none without a policy."""
        if layout.policy is None:
            return ()
        counts = sum([await self._storage_types(path) for path in paths], Counter[tuple[str, ...]]())
        return (placement_check(layout.policy, counts),)

    async def _storage_types(self, path: str) -> Counter[tuple[str, ...]]:
        """Return the number of blocks below ``path`` by the sorted storage types of their replicas."""
        blocks = await self._blocks([file for file in await self.files(path) if file.length_bytes])
        return Counter(tuple(sorted(block.get("storageTypes", ()))) for block in blocks)

    async def _blocks(self, files: Sequence[FileStatus]) -> list[dict[str, Any]]:
        """Return the blocks of ``files``, each with its length, hosts and storage types."""
        answers = await asyncio.gather(*(self._get(file.path, "GETFILEBLOCKLOCATIONS") for file in files))
        return [block for answer in answers for block in answer.get("BlockLocations", {}).get("BlockLocation", [])]

    async def make(self, path: str) -> None:
        """Create a folder and its parents."""
        await self.namenode.request("PUT", self._url(path, "MKDIRS"))

    async def summary(self, path: str) -> dict[str, Any]:
        """Return a folder's totals and quotas: WebHDFS's ContentSummary."""
        answer = await self._get(path, "GETCONTENTSUMMARY")
        return dict(answer.get("ContentSummary", {}))

    async def set_policy(self, path: str, policy: str) -> None:
        """Set the storage policy of the folder ``path``, which is created if needed.

        Raises EngineError if HDFS refuses it.
        """
        await self.make(path)
        await self.namenode.request("PUT", self._url(path, "SETSTORAGEPOLICY", storagepolicy=policy))
        answer = await self._get(path, "GETSTORAGEPOLICY")
        if answer.get("BlockStoragePolicy", {}).get("name") != policy:
            raise EngineError(f"HDFS refused the storage policy {policy}: {answer}", where=path)

    async def read(self, path: str) -> bytes:
        """Return the content of a small file. Raises EngineError if it can't be read."""
        answer = await self._get(path, "OPEN", noredirect="true")
        return await self._datanode_endpoint(answer["Location"]).request("GET", _path_of(answer["Location"]))

    async def write(self, path: str, content: bytes) -> None:
        """Create or replace a small file."""
        answer = await self.namenode.request("PUT", self._url(path, "CREATE", noredirect="true", overwrite="true"))
        location = str(json.loads(answer)["Location"])
        await self._datanode_endpoint(location).request("PUT", _path_of(location), content)

    async def delete(self, path: str) -> None:
        """Remove a file, or a folder with its content; do nothing if it does not exist."""
        await self.namenode.request("DELETE", self._url(path, "DELETE", recursive="true", skiptrash="true"))

    def _datanode_endpoint(self, location: str) -> Endpoint:
        parts = urlsplit(location)
        return replace(self.namenode, host=parts.hostname or "", port=parts.port or 80, tls=parts.scheme == "https")


def placement_check(policy: StoragePolicy, counts: Mapping[tuple[str, ...], int]) -> Check:
    """Return the check that blocks are where ``policy`` requires; ``counts``: number of blocks by storage types.

    A block that LAZY_PERSIST still holds in memory passes.
    """
    misplaced_blocks: Counter[tuple[str, ...]] = Counter()
    for types, blocks in counts.items():
        final_types = tuple("DISK" if policy is StoragePolicy.LAZY_PERSIST and t == "RAM_DISK" else t for t in types)
        if tuple(sorted(final_types)) != policy.storage_types(len(types)):
            misplaced_blocks[types] += blocks
    by_count = sorted(counts.items(), key=lambda item: -item[1])
    counts_text = ", ".join(f"{blocks} on {'+'.join(types) or 'none'}" for types, blocks in by_count[:_LISTED_MAX])
    if not misplaced_blocks:
        return Check("storage policy", True, f"{policy}: blocks are {counts_text or 'missing: there are none'}")
    return Check(
        "storage policy",
        False,
        f"{misplaced_blocks.total()} of {sum(counts.values())} blocks are not where {policy} requires: {counts_text}",
    )


def _path_of(location: str) -> str:
    parts = urlsplit(location)
    return f"{parts.path}?{parts.query}"
