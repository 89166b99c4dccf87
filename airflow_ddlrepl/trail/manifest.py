"""A manifest lists what a trail segment consists of: its parts, their files, and how each file's columns are written.

A segment is one captured window of the log. It exists when its manifest does; the manifest names
every file with its size and checksum, so nothing else has to be listed or guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from airflow_ddlrepl.errors import FileDamaged
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Identity, Table
from airflow_ddlrepl.ports.row_layout import ColumnLayout

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob is one file of the trail, or a piece of one: its path in the channel's folder, its bytes, its checksum.

    offset: where in the file the piece begins; None: it is the whole file.
    """

    path: str
    size: int
    checksum: str
    offset: int | None = None

    def to_json(self) -> list[Any]:
        """Return path, size and checksum as a JSON array of the manifest."""
        return [self.path, self.size, self.checksum]


@dataclass(frozen=True, slots=True)
class RowFile:
    """A row file holds row changes of one table in one layout, in log order from `first` to `last`, both included.

    key_updates: updates that may have changed the key; where the log has whole old rows it does not
    show it, so every update counts. absent: rows with at least one column whose value is not there.
    offset: where they begin in a file that holds rows of several tables (trail.pack); None: the file is theirs.
    memory: bytes that they take when they are read; 0: an earlier version did not record it.
    shape: of the table, where a client of Streams has written the rows; else it is its revision's.
    is_transformed: the client has given them other names, columns or values than they have at the source.
    """

    path: str
    table_id: int
    schema: str
    name: str
    identity: Identity
    columns: tuple[ColumnLayout, ...]
    first: LogKey
    last: LogKey
    rows: int
    inserts: int
    updates: int
    deletes: int
    key_updates: int
    absent: int
    size: int
    checksum: str
    offset: int | None = None
    memory: int = 0
    shape: Table | None = None
    is_transformed: bool = False

    @property
    def blob(self) -> Blob:
        """Return the file, or the piece of one, that holds the rows."""
        return Blob(self.path, self.size, self.checksum, self.offset)

    def to_json(self) -> dict[str, Any]:
        """Return the row file as a JSON object of the manifest."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **data,
            "identity": str(self.identity),
            "columns": [c.to_json() for c in self.columns],
            "first": list(self.first),
            "last": list(self.last),
            "shape": self.shape.to_json() if self.shape else None,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RowFile:
        """Return the row file that `to_json` wrote."""
        return cls(
            **{
                **data,
                "identity": Identity(data["identity"]),
                "columns": _layouts(tuple(map(tuple, data["columns"]))),
                "first": LogKey(*data["first"]),
                "last": LogKey(*data["last"]),
                "shape": Table.from_json(data["shape"]) if data.get("shape") else None,
            }
        )


@lru_cache(1024)
def _layouts(columns: tuple[tuple[Any, ...], ...]) -> tuple[ColumnLayout, ...]:
    """Return the layouts of columns; files of thousands of tables with equal columns share them."""
    return tuple(ColumnLayout(*one) for one in columns)


@dataclass(frozen=True, slots=True)
class Part:
    """A part is what one capture task wrote of a segment: the log between `low` (included) and `high` (excluded).

    control: events as JSON lines. transactions: Parquet. pack: rows of many tables. None when there are none.
    bytes_read: bytes of messages the source delivered. functions: how many messages each function of a client of
    Streams got, and how many it left as they were. steps: of that client's work, with the user who did it.
    """

    index: int
    low: Position
    high: Position
    files: tuple[RowFile, ...] = ()
    control: Blob | None = None
    transactions: Blob | None = None
    transaction_count: int = 0
    change_count: int = 0
    event_count: int = 0
    bytes_read: int = 0
    pack: Blob | None = None
    functions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)

    def blobs(self) -> Iterator[Blob]:
        """Yield every file of the part."""
        yield from (file.blob for file in self.files if file.offset is None)
        yield from (blob for blob in (self.control, self.transactions, self.pack) if blob)

    def to_json(self) -> dict[str, Any]:
        """Return the part as a JSON object of the manifest."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **data,
            "low": str(self.low),
            "high": str(self.high),
            "files": [f.to_json() for f in self.files],
            "control": self.control.to_json() if self.control else None,
            "transactions": self.transactions.to_json() if self.transactions else None,
            "pack": self.pack.to_json() if self.pack else None,
            "functions": dict(self.functions),
            "steps": dict(self.steps),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Part:
        """Return the part that `to_json` wrote."""
        return cls(
            **{
                **data,
                "low": Position.parse(data["low"]),
                "high": Position.parse(data["high"]),
                "files": tuple(RowFile.from_json(f) for f in data["files"]),
                "control": Blob(*data["control"]) if data["control"] else None,
                "transactions": Blob(*data["transactions"]) if data["transactions"] else None,
                "pack": Blob(*data["pack"]) if data.get("pack") else None,
                "functions": {name: tuple(counts) for name, counts in data.get("functions", {}).items()},
                "steps": data.get("steps", {}),
            }
        )


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment is one captured window [low, high) of a channel's log.

    token: of the run that wrote it. created: UTC, ISO. log_identity: of the log that was read. is_inspected: at its
    end the source's catalog was compared with all that the log had shown by then; else a table can be found changed at
    the end of a later segment that has changed in this one. mark: token of the mark that the capture had written to the
    source when it read the log; empty: none. digest: of the manifest as it was read or written; empty: there is none.
    """

    channel: str
    epoch: int
    token: int
    low: Position
    high: Position
    parts: tuple[Part, ...] = ()
    created: str = ""
    log_identity: str = ""
    is_inspected: bool = True
    mark: str = ""
    digest: str = field(default="", compare=False)

    @property
    def rows(self) -> int:
        """Return the number of row changes in the segment."""
        return sum(file.rows for file in self.files())

    @property
    def is_empty(self) -> bool:
        """Return whether the segment has no rows, events or transactions, and no table can have changed unseen."""
        has_content = any(part.files or part.event_count or part.transaction_count for part in self.parts)
        return self.is_inspected and not has_content

    def files(self) -> Iterator[RowFile]:
        """Yield the row files of all parts, in the order of the parts."""
        for part in self.parts:
            yield from part.files

    def blobs(self) -> Iterator[Blob]:
        """Yield every file that the segment needs."""
        for part in self.parts:
            yield from part.blobs()

    def to_json(self) -> dict[str, Any]:
        """Return the segment's manifest as a JSON object."""
        return {
            "format": FORMAT,
            "channel": self.channel,
            "epoch": self.epoch,
            "token": self.token,
            "low": str(self.low),
            "high": str(self.high),
            "created": self.created or datetime.now(UTC).isoformat(timespec="milliseconds"),
            "lineage": self.log_identity or None,
            "is_inspected": self.is_inspected,
            "mark": self.mark,
            "parts": [part.to_json() for part in self.parts],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Segment:
        """Return the segment of a manifest; raise TrailError TRL-106 when it has no format that this version knows."""
        try:
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']}")
            return cls(
                channel=data["channel"],
                epoch=data["epoch"],
                token=data["token"],
                low=Position.parse(data["low"]),
                high=Position.parse(data["high"]),
                parts=tuple(Part.from_json(p) for p in data["parts"]),
                created=data["created"],
                log_identity=data.get("lineage") or "",
                is_inspected=data.get("is_inspected", True),
                mark=data.get("mark", ""),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FileDamaged(
                f"a segment manifest can't be read ({error!r})",
                code="TRL-106",
                hint="it was changed by hand or written by a newer version",
            ) from error
