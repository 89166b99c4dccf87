"""This module defines the search for the rows of a table in which a source and a target differ, before rows are read.

Ranges of the key are compared by digests, and only the rows of ranges that differ are loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from airflow_ddlrepl.engines import FindsDiffering, engine
from airflow_ddlrepl.engines.ability import find
from airflow_ddlrepl.model.key_ranges import KeyRanges
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.ports.rows import RowSource


class NotByRange(Exception):
    """This exception says why a table can't take only the rows that were loaded; nothing has changed, load all rows."""


@dataclass(frozen=True, slots=True)
class DifferingTask:
    """A differing task searches one table for the ranges of its key in which source and target differ.

    Its text never shows a location. rows: all of the source's table, under a snapshot. place: the target's table.
    pairs: the source's columns, each with the target's of the same type. key: those of the key, which is one integer.
    most: how many bytes a row source of the result is to have, about. channel: what it is called at the target. since:
    by the monotonic clock, when the snapshot was open already.
    """

    rows: RowSource
    target_dsn: str = field(repr=False)
    place: TableName
    pairs: Sequence[tuple[Column, Column]]
    key: tuple[Column, Column]
    most: int
    channel: str = ""
    table_id: int = 0
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class Differing:
    """The differing rows of a table are those in some ranges of its key.

    rows: the source's, each once. ranges: of the target's key. count: how many rows the source's whole table has.
    """

    rows: tuple[RowSource, ...]
    ranges: KeyRanges
    count: int


def load_mark(task: DifferingTask) -> str:
    """Return a text by which a later search knows which of the source's rows were loaded; empty: there is none.

    The target stores it in the transaction that gives its table these rows, and no others.
    """
    by_digests = find(engine(task.target_dsn), FindsDiffering)
    return by_digests.load_mark(task) if by_digests is not None else ""


def find_differing(task: DifferingTask) -> Differing | None:
    """Return the rows that have to be compared one by one; None where all have to be.

    The target's table is read as it is now: what others write there later counts for the next search.
    """
    by_digests = find(engine(task.target_dsn), FindsDiffering)
    return by_digests.find_differing(task) if by_digests is not None else None
