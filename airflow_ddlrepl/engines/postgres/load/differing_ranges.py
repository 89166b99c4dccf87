"""This module finds the ranges of an integer key in which the rows of two servers differ, by digests of each range.

A digest is the number of rows and the xor of their hashes. As the key is unique, no hash comes twice in a range; a
range that differs looks equal with a chance of one in 2^64. What else makes the digests of equal rows differ, such as
servers that hash in another way, makes more ranges differ, never fewer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.differing import Differing, DifferingTask
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import SourceFailed, blocks_of, open_snapshot
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.load.table_rows import NAME, TableRows
from airflow_ddlrepl.engines.postgres.types.row_hash import row_hash
from airflow_ddlrepl.model.key_ranges import KeyRanges, joined
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connection.connect import Connection

log = logging.getLogger("ddlrepl")
ROWS_PER_RANGE = 16
MOST_RANGES = 1 << 19
MOST_SHARE = 0.2
"""Where more of the rows lie in ranges that differ, all rows are loaded: many tasks do that at once."""

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
    try:
        with ExitStack() as stack:
            source = stack.enter_context(session(rows.dsn, autocommit=False, application_name=NAME))
            stack.callback(source.rollback)
            open_snapshot(source, rows.snapshot)
            target = stack.enter_context(session(task.target_dsn, autocommit=False, application_name=NAME))
            stack.callback(target.rollback)
            open_snapshot(target, "")
            theirs, ours = (tuple(pair[place] for pair in task.pairs) for place in (0, 1))
            sides = (_Side(source, rows.place, theirs, task.key[0]), _Side(target, task.place, ours, task.key[1]))
            return _found(task, rows, sides)
    except (SourceFailed, psycopg.Error) as error:
        log.info("%s: all rows are read, ranges can't be compared: %s", rows.table, " ".join(str(error).split()))
        return None


def _found(task: DifferingTask, rows: TableRows, sides: tuple[_Side, _Side]) -> Differing | None:
    edges = [edge for side in sides for edge in side.key_range()]
    if None in edges or len({side.encoding for side in sides}) > 1:
        return None
    keys = sorted({*(edge for edge in edges if edge is not None), *(sides[0].key_sample() or sides[1].key_sample())})
    shift = key_shift(keys, sides[0].about_rows(rows.size))
    with ThreadPoolExecutor(2) as pool:
        theirs, ours = pool.map(lambda side: side.digests(shift), sides)
    unlike, total = theirs ^ ours, _rows_of(theirs)
    looked_at = max(_rows_of(unlike & theirs), _rows_of(unlike & ours))
    if looked_at > total * MOST_SHARE:
        log.info("%s: all rows are read, %d of %d are in ranges that differ", rows.table, looked_at, total)
        return None
    bounds = joined(sorted({int(line.split(b"\t", 1)[0]) for line in unlike}), shift)
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


def _rows_of(digests: Set[bytes]) -> int:
    return sum(int(line.split(b"\t", 2)[1]) for line in digests)


@dataclass(frozen=True, slots=True)
class _Side:
    """A side is the source's or the target's table, with the session that reads it."""

    connection: Connection[Any]
    table: TableName
    columns: Sequence[Column]
    key: Column

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

    def digests(self, shift: int) -> set[bytes]:
        """Return for each range of 2^shift keys that has rows: its number, how many rows, and their digest."""
        self.connection.execute(_AT_ONCE.encode())
        columns = [(quote(column.name), column.type) for column in self.columns]
        row = row_hash(columns, self.connection.info.server_version)
        number = f"{quote(self.key.name)}::bigint >> {shift}"
        query = f"SELECT {number}, count(*), bit_xor({row}) FROM ONLY {qualified(self.table)} GROUP BY 1"
        return set(b"".join(blocks_of(self.connection, f"COPY ({query}) TO STDOUT")).splitlines())

    def _row(self, query: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self.connection.execute(query.encode()).fetchone()
        assert row is not None
        return row
