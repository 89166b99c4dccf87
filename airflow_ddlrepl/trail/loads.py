"""A load archives the rows of whole tables, read by a refresh under one snapshot; a rewind can begin from it.

<url>/<channel>/e<epoch>/loads/<position>-<token>-<why>.json    what was loaded together
<url>/<channel>/e<epoch>/loads/<position>-<token>-<why>/…       the rows, as COPY gives them, compressed

The log has changes only: a load has the rows that a table held when it joined the channel, or after it was rewritten.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from weakref import WeakKeyDictionary

import pyarrow as pa

from airflow_ddlrepl.errors import FileDamaged, TrailError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.visibility import Visibility, stored_visibility
from airflow_ddlrepl.trail.manifest import Blob
from airflow_ddlrepl.trail.place import Place, Sink
from airflow_ddlrepl.trail.segments import digest
from airflow_ddlrepl.trail.store import Trail

log = logging.getLogger("ddlrepl")
FORMAT = 1
FILE_BYTES = 1 << 28
CODEC = "zstd"
_NAME = re.compile(r"e\d+/loads/([0-9a-f]{16}-\d+-[\w-]+)\.json$")
_KNOWN: WeakKeyDictionary[Trail, dict[str, Load]] = WeakKeyDictionary()  # no manifest ever changes: read once, by path


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A loaded table describes the archived rows of one table of a load.

    table: as the snapshot sees it. columns: that its rows hold. chunks: files of each COPY, one after the other.
    """

    table: Table
    columns: tuple[str, ...]
    is_binary: bool
    chunks: tuple[tuple[Blob, ...], ...]
    rows: int

    def to_json(self) -> dict[str, Any]:
        """Return the description as a JSON object of the load's manifest."""
        return {
            "table": self.table.to_json(),
            "columns": list(self.columns),
            "binary": self.is_binary,
            "chunks": [[blob.to_json() for blob in chunk] for chunk in self.chunks],
            "rows": self.rows,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoadedTable:
        """Return the description that `to_json` wrote."""
        chunks = tuple(tuple(Blob(*blob) for blob in chunk) for chunk in data["chunks"])
        return cls(Table.from_json(data["table"]), tuple(data["columns"]), data["binary"], chunks, data["rows"])


@dataclass(frozen=True, slots=True)
class Load:
    """A load is a set of tables whose rows were read under one snapshot.

    With the log from `position` on, its tables are complete at any moment after the snapshot.
    created: when the snapshot was taken, by the source's clock. name: unique in the epoch.
    """

    epoch: int
    name: str
    position: Position
    snapshot: Visibility
    created: datetime
    tables: tuple[LoadedTable, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the load's manifest as a JSON object."""
        return {
            "format": FORMAT,
            "epoch": self.epoch,
            "name": self.name,
            "position": str(self.position),
            "snapshot": self.snapshot.to_json(),
            "created": self.created.isoformat(),
            "tables": [table.to_json() for table in self.tables],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Load:
        """Return the load of a manifest; raise ValueError for an unknown format."""
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}")
        return cls(
            data["epoch"],
            data["name"],
            Position.parse(data["position"]),
            stored_visibility(data["snapshot"]),
            datetime.fromisoformat(data["created"]),
            tuple(LoadedTable.from_json(table) for table in data["tables"]),
        )


def load_name(position: Position, token: int, why: str) -> str:
    """Return the name of a load; `why` is the refreshed target, for one run may refresh several at a position."""
    return f"{position:016x}-{token}-{why}"


def load_folder(epoch: int, name: str) -> str:
    """Return the folder of a load's files, relative to the channel's trail."""
    return f"e{epoch}/loads/{name}"


def publish(trail: Trail, load: Load, keep_digest: Callable[[str], None] = lambda _: None) -> None:
    """Write a load's manifest, from which on the load exists.

    keep_digest: is called with the manifest's digest before. Raises TrailError TRL-101 or TRL-102 when a file of it is
    not as written.
    """
    for blob in _blobs(load):
        trail.check_size(blob)
    text = json.dumps(load.to_json(), separators=(",", ":")).encode()
    keep_digest(digest(text))
    trail.place.put_if_absent(f"{load_folder(load.epoch, load.name)}.json", text)


def found_digests(trail: Trail) -> dict[tuple[int, str], str]:
    """Return the digests of the manifests of all loads as they are in the trail now, by epoch and name."""
    paths = [path for path in trail.place.walk() if _NAME.match(path)]
    found = {_key(path): trail.place.read(path) for path in paths}
    return {key: digest(data) for key, data in found.items() if data is not None}


def loads(trail: Trail, epoch: int) -> list[Load]:
    """Return every load of an epoch by position; raise TrailError TRL-106 for a manifest that can't be read."""
    return _in_order(_load(trail, path) for path in _paths(trail, epoch))


def readable_loads(trail: Trail, epoch: int) -> list[Load]:
    """Return the loads of an epoch whose manifests can be read, and log a warning for each of the others."""
    found: list[Load | None] = []
    for path in _paths(trail, epoch):
        try:
            found.append(_load(trail, path))
        except TrailError as error:
            log.warning("%s: no rewind can begin there. %s", error.message, error.hint)
    return _in_order(found)


def _paths(trail: Trail, epoch: int) -> list[str]:
    return [path for path in trail.place.walk(f"e{epoch}/loads") if _NAME.match(path)]


def _in_order(found: Iterable[Load | None]) -> list[Load]:
    return sorted(filter(None, found), key=lambda load: (load.position, load.snapshot.high, load.name))


def _load(trail: Trail, path: str) -> Load | None:
    """Return the load of a manifest, read once; None when the manifest is gone."""
    known = _KNOWN.setdefault(trail, {})
    if path not in known and (data := trail.place.read(path)) is not None:
        _require_own(trail, path, data)
        known[path] = _parse(path, data)
    return known.get(path)


def _require_own(trail: Trail, path: str, data: bytes) -> None:
    """Raise TrailError TRL-113 unless the repository knows this manifest, or knows none: an earlier version's."""
    known = trail.known_loads()
    if known and known.get(_key(path)) != digest(data):
        raise FileDamaged(
            f"the manifest {path} of a load is not the one that was archived: the file was changed or added",
            code="TRL-113",
            hint="restore the file, or remove it: `ddlrepl refresh` archives the tables again",
        )


def _key(path: str) -> tuple[int, str]:
    """Return epoch and name of the load with this manifest."""
    epoch, _, name = path.split("/")
    return int(epoch[1:]), name.removesuffix(".json")


def _parse(path: str, data: bytes) -> Load:
    try:
        return Load.from_json(json.loads(data))
    except (ValueError, KeyError, TypeError) as error:
        raise FileDamaged(
            f"the manifest {path} of a load can't be read: {error!r}",
            code="TRL-106",
            hint="restore the file, or remove it",
        ) from error


def remove(trail: Trail, load: Load) -> None:
    """Delete a load from the trail, its manifest first.

    When the process is killed in between, files are left that nobody reads; `sweep_loads` deletes them.
    """
    folder = load_folder(load.epoch, load.name)
    trail.place.remove(f"{folder}.json")
    for path in trail.place.walk(folder):
        trail.place.remove(path)


def sweep_loads(trail: Trail, epoch: int, token: int) -> None:
    """Delete the files of loads that earlier runs (with a lower token) wrote and never published."""
    paths = trail.place.walk(f"e{epoch}/loads")
    published = {found[1] for path in paths if (found := _NAME.match(path))}
    for path in paths:
        name = path.split("/")[2]
        if not _NAME.match(path) and name not in published and int(name.split("-")[1]) < token:
            trail.place.remove(path)


class ChunkWriter:
    """A chunk writer compresses the output of a COPY into files of a size that a reader can hold in memory.

    Used in a `with` block, it abandons the open file when the block ends before `close`: nobody will read it.
    """

    def __init__(self, place: Place, stem: str) -> None:
        self._place, self._stem = place, f"{stem}-{uuid.uuid4().hex[:8]}"
        self._blobs: list[Blob] = []
        self._sink: Sink | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._sink is not None:
            self._sink.abandon()

    def write_all(self, blocks: Generator[bytes, None, int]) -> int:
        """Write every block of a generator, and return what the generator returns: the number of rows."""
        while True:
            try:
                self.write(next(blocks))
            except StopIteration as end:
                return int(end.value)

    def write(self, block: bytes) -> None:
        """Write one block, into a new file when the current one is large enough."""
        if self._sink is None:
            self._sink = self._place.create(f"{self._stem}-{len(self._blobs)}.copy.zst")
            self._stream = pa.CompressedOutputStream(pa.PythonFile(self._sink, "w"), CODEC)
        self._stream.write(block)
        if self._sink.size > FILE_BYTES:
            self._end_file()

    def close(self) -> tuple[Blob, ...]:
        """Finish the open file and return all files, which are durable then."""
        if self._sink is not None:
            self._end_file()
        return tuple(self._blobs)

    def _end_file(self) -> None:
        assert self._sink is not None
        self._stream.close()
        self._sink.close()
        self._blobs.append(self._sink.blob)
        self._sink = None


def read_chunk(trail: Trail, blobs: tuple[Blob, ...]) -> Iterator[bytes]:
    """Yield an archived COPY's output in blocks.

    Raises TrailError TRL-101 to TRL-103 before a block of a bad file.
    """
    for blob in blobs:
        with pa.CompressedInputStream(trail.open(blob), CODEC) as stream:
            while block := stream.read(1 << 18):
                yield block


def _blobs(load: Load) -> Iterator[Blob]:
    return (blob for table in load.tables for chunk in table.chunks for blob in chunk)
