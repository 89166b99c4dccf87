"""This module finds the ranges of an integer key in which the rows of two servers differ, by digests of each range.

A digest is the number of rows and the xor of their hashes. As the key is unique, no hash comes twice in a range; a
range that differs looks equal with a chance of one in 2^64. What else makes the digests of equal rows differ, such as
servers that hash in another way, makes more ranges differ, never fewer.

Where it is known which versions of rows the last load has seen (`rows_since_load`), these are equal: only the others
are hashed, and of all rows the key. Where both sides have the same keys, the rows that differ are among the others.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log2
from typing import Any, NamedTuple, Self

import numpy as np

from airflow_ddlrepl.engines.differing import Differing, DifferingTask
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import SourceFailed, open_snapshot
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.load.rows_since_load import later_versions
from airflow_ddlrepl.engines.postgres.load.table_rows import NAME, TableRows
from airflow_ddlrepl.engines.postgres.types.row_hash import key_hash, row_hash
from airflow_ddlrepl.model.key_ranges import KeyRanges, joined
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column

log = logging.getLogger("ddlrepl")
ROWS_PER_RANGE = 16
MOST_RANGES = 1 << 19
MOST_SHARE = 0.2
"""Where more of the rows lie in ranges that differ, all rows are loaded: many tasks do that at once."""

MOST_KEYS = 1 << 17
"""Where more rows were written since the load, digests of ranges tell which of them differ."""

_BYTES_PER_ROW = 100
# The planner takes each row for a range of its own, whose transport from a parallel worker would cost too much.
_AT_ONCE = "SET LOCAL work_mem = '128MB'; SET LOCAL parallel_tuple_cost = 0"
Bounds = tuple[tuple[int, int], ...]


def find_differing(task: DifferingTask) -> Differing | None:
    """Return the rows in ranges of the key that differ; None where all rows have to be looked at, and says why."""
    import psycopg

    rows = task.rows
    if not isinstance(rows, TableRows):
        return None
    if rows.is_plain:
        log.info("%s: all rows are read: a query over the table could run code of its owner", rows.table)
        return None
    try:
        with ExitStack() as stack:
            source = stack.enter_context(session(rows.dsn, autocommit=False, application_name=NAME))
            stack.callback(source.rollback)
            open_snapshot(source, rows.snapshot)
            target = stack.enter_context(session(task.target_dsn, autocommit=False, application_name=NAME))
            stack.callback(target.rollback)
            open_snapshot(target, "")
            theirs, ours = (tuple(pair[place] for pair in task.pairs) for place in (0, 1))
            later = later_versions(task, source, target) or ("", "")
            sides = (
                _Side(source, rows.place, theirs, task.key[0], later[0]),
                _Side(target, task.place, ours, task.key[1], later[1]),
            )
            return _found(task, rows, sides)
    except (SourceFailed, psycopg.Error) as error:
        log.info("%s: all rows are read, ranges can't be compared: %s", rows.table, " ".join(str(error).split()))
        return None


def _found(task: DifferingTask, rows: TableRows, sides: tuple[_Side, _Side]) -> Differing | None:
    few = _written_since(sides) if sides[0].later else None
    if few is not None and few.has_same_keys:
        return _differing(task, rows, few.keys, 0, (len(few.keys), few.rows))
    edges = [edge for side in sides for edge in side.key_range()]
    if None in edges or len({side.encoding for side in sides}) > 1:
        return None
    keys = sorted({*(edge for edge in edges if edge is not None), *(sides[0].key_sample() or sides[1].key_sample())})
    shift = key_shift(keys, sides[0].about_rows(rows.size))
    with ThreadPoolExecutor(2) as pool:
        theirs, ours = pool.map(lambda side: side.digests(shift) if few is None else side.key_digests(shift), sides)
    unlike, looked_at, total = _unlike(theirs, ours), 0, int(theirs.counts.sum())
    if few is not None:
        unlike = np.union1d(unlike, few.keys >> shift)
    for side in (theirs, ours):
        looked_at = max(looked_at, int(side.counts[np.isin(side.numbers, unlike, assume_unique=True)].sum()))
    return _differing(task, rows, unlike, shift, (looked_at, total))


class _Few(NamedTuple):
    """This value has the keys of the rows that somebody has written since the load, ascending, where they are few.

    has_same_keys: have both tables the same keys, of as many rows?
    """

    keys: np.ndarray[Any, np.dtype[np.int64]]
    rows: int
    has_same_keys: bool


def _written_since(sides: tuple[_Side, _Side]) -> _Few | None:
    """Return the rows that somebody has written since the load, on either side; None where they are many."""
    with ThreadPoolExecutor(2) as pool:
        theirs, ours = pool.map(lambda side: side.written_since(), sides)
    total, keys = theirs.rows, np.union1d(theirs.written, ours.written)
    is_same = theirs[:2] == ours[:2]
    return _Few(keys, total, is_same) if total and len(keys) <= min(MOST_KEYS, total * MOST_SHARE) else None


def _differing(
    task: DifferingTask,
    rows: TableRows,
    numbers: np.ndarray[Any, np.dtype[np.int64]],
    shift: int,
    counts: tuple[int, int],
) -> Differing | None:
    """Return the rows in ranges of 2^shift keys, by their numbers; None where that is not a small part of all rows.

    counts: the rows that lie in them, and all.
    """
    looked_at, total = counts
    if looked_at > total * MOST_SHARE:
        log.info("%s: all rows are read, %d of %d are in ranges that differ", rows.table, looked_at, total)
        return None
    bounds = joined(numbers.tolist(), shift)
    log.info("%s: %d of %d rows are read, those in %d ranges that differ", rows.table, looked_at, total, len(bounds))
    return Differing(_parts(task, rows, bounds, rows.size * looked_at // max(1, total)), _ranges(task, bounds), total)


def _parts(task: DifferingTask, rows: TableRows, bounds: Bounds, size: int) -> tuple[TableRows, ...]:
    """Return row sources of the ranges' rows, of about `most` bytes each. size: of all of them."""
    count = min(len(bounds), -(-size // max(1, task.most)) or 1)
    cuts = [len(bounds) * place // count for place in range(count + 1)] if count else []
    share = size // max(1, count)
    return tuple(
        replace(rows, ranges=KeyRanges(task.key[0].name, bounds[low:high]), size=share) for low, high in pairwise(cuts)
    )


def _ranges(task: DifferingTask, bounds: Bounds) -> KeyRanges:
    return KeyRanges(task.key[1].name, bounds)


def key_shift(keys: Sequence[int], rows: int) -> int:
    """Return how many bits of a key do not tell its range, so that ranges have some `ROWS_PER_RANGE` rows.

    keys: some that have about as many rows between each two neighbours, with the first and the last; ascending. Ranges
    have one width: that is right for the rows that lie dense, so that a few keys that lie far apart do not count.
    rows: how many there are, about.
    """
    gaps = [high - low for low, high in pairwise(keys)] or [1]
    between = max(1, rows // len(gaps))
    dense = sorted(gaps)[len(gaps) // 4]
    shift = max(0, round(log2(max(1.0, dense * ROWS_PER_RANGE / between))))
    while shift < 62 and sum(min(between, 1 + (gap >> shift)) for gap in gaps) > MOST_RANGES:
        shift += 1
    return min(shift, 62)


class _Written(NamedTuple):
    """This value has the number of a table's rows, the xor of their keys' hashes, and the keys of later versions."""

    rows: int
    keys: int
    written: np.ndarray[Any, np.dtype[np.int64]]


class _Digests(NamedTuple):
    """The digests of a table's ranges: the number of each, ascending, how many rows it has, and their hash."""

    numbers: np.ndarray[Any, np.dtype[np.int64]]
    counts: np.ndarray[Any, np.dtype[np.int64]]
    hashes: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def read(cls, arrays: Sequence[bytes | None]) -> Self:
        """Return the digests that three arrays of bigint hold as a server sends them in binary; None: no range."""
        numbers, counts, hashes = (_numbers(array) for array in arrays)
        order = np.argsort(numbers)
        return cls(numbers[order], counts[order], hashes[order])


def _numbers(array: bytes | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the elements of a bigint[] in binary: five words about the array, then each with its length before it."""
    elements = np.frombuffer(array or b"", [("length", ">i4"), ("value", ">i8")], offset=20 if array else 0)
    return elements["value"].astype(np.int64)


def _unlike(theirs: _Digests, ours: _Digests) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the numbers of the ranges whose digests differ or that one side alone has; ascending."""
    both, left, right = np.intersect1d(theirs.numbers, ours.numbers, assume_unique=True, return_indices=True)
    alike = (theirs.counts[left] == ours.counts[right]) & (theirs.hashes[left] == ours.hashes[right])
    return np.setdiff1d(np.union1d(theirs.numbers, ours.numbers), both[alike], assume_unique=True)


@dataclass(frozen=True, slots=True)
class _Side:
    """A side is the source's or the target's table, with the session that reads it.

    later: SQL that is true for the versions of rows that no load has seen; empty: that is not known.
    """

    connection: Connection[Any]
    table: TableName
    columns: Sequence[Column]
    key: Column
    later: str = ""

    @property
    def encoding(self) -> str | None:
        return self.connection.info.parameter_status("server_encoding")

    def key_range(self) -> tuple[int | None, int | None]:
        """Return the lowest and the highest key; None for an empty table."""
        key = quote(self.key.name)
        low, high = self._row(f"SELECT min({key})::bigint, max({key})::bigint FROM ONLY {qualified(self.table)}")
        return low, high

    def key_sample(self) -> Sequence[int]:
        """Return keys between which lie about as many rows each, from the server's statistics, if it has any."""
        names = zip(("schemaname", "tablename", "attname"), (*self.table, self.key.name), strict=True)
        where = " AND ".join(f"{column} = {literal(name)}" for column, name in names)
        (found,) = self._row(
            f"SELECT (SELECT histogram_bounds::text::bigint[] FROM pg_stats WHERE {where} AND NOT inherited)"
        )
        return found or ()

    def about_rows(self, size: int) -> int:
        """Return how many rows the table has as the server's statistics say, or as its size makes likely."""
        name = literal(qualified(self.table))
        known = int(self._row(f"SELECT reltuples::bigint FROM pg_class WHERE oid = {name}::regclass")[0])
        return known if known > 0 else size // _BYTES_PER_ROW

    def written_since(self) -> _Written:
        """Return all keys' digest, and the keys of the rows that are later versions than the load's."""
        key = quote(self.key.name)
        written = f"array_agg({key}::bigint) FILTER (WHERE {self.later})"
        query = f"SELECT count(*), coalesce(bit_xor({key_hash(key)}), 0), {written} FROM ONLY {qualified(self.table)}"
        (rows, keys), written_keys = self._binary(query, 2)
        return _Written(rows, keys, np.unique(_numbers(written_keys[0])))

    def digests(self, shift: int) -> _Digests:
        """Return the digests of the ranges of 2^shift keys that have rows."""
        columns = [(quote(column.name), column.type) for column in self.columns]
        row = row_hash(columns, self.connection.info.server_version)
        if self.later:
            row = f"CASE WHEN {self.later} THEN {row} ELSE {key_hash(quote(self.key.name))} END"
        return self._digests(shift, row)

    def key_digests(self, shift: int) -> _Digests:
        """Return the digests of nothing but the keys."""
        return self._digests(shift, key_hash(quote(self.key.name)))

    def _digests(self, shift: int, row: str) -> _Digests:
        number = f"{quote(self.key.name)}::bigint >> {shift}"
        each = f"SELECT {number} AS n, count(*) AS c, bit_xor({row}) AS h FROM ONLY {qualified(self.table)} GROUP BY 1"
        query = f"SELECT array_agg(n), array_agg(c), array_agg(h) FROM ({each}) AS ranges"
        return _Digests.read(self._binary(query, 0)[1])

    def _binary(self, query: str, numbers: int) -> tuple[tuple[int, ...], list[bytes | None]]:
        """Return the columns of a query's only row: so many of type bigint, and the others in binary."""
        self.connection.execute(_AT_ONCE.encode())
        with self.connection.cursor(binary=True) as cursor:
            cursor.execute(query.encode())
            result = cursor.pgresult
            assert result is not None
            found = [result.get_value(0, place) for place in range(result.nfields)]
        return tuple(int.from_bytes(one or b"", signed=True) for one in found[:numbers]), found[numbers:]

    def _row(self, query: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self.connection.execute(query.encode()).fetchone()
        assert row is not None
        return row
