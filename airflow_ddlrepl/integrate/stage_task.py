"""This module defines the task that stages one table's rows, or one bucket of them, in any process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from airflow_ddlrepl.mapping.values import Transform
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.settings.conflicts import ConflictAnswers
from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.model.settings.table_settings import NO_SETTINGS, OwnColumns
from airflow_ddlrepl.model.table import Identity, Table
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.types import Equality, TypeSystem
from airflow_ddlrepl.trail.manifest import Blob, RowFile

ROWS_ALONE = 100_000
ROWS_PER_SECTION = 1_250_000  # and bucket
CARRIED_BYTES = 96 << 20
"""So many bytes of rows of all tasks are in memory until they are merged; an engine stores the others first."""
ROW_BYTES = 512  # a row of more counts as several


@dataclass(frozen=True, slots=True)
class StageTask:
    """A stage task stages one table's rows in [low, high) for its target.

    It is picklable, and its text shows no location.
    """

    dsn: str = field(repr=False)
    """Of the target."""
    trail_url: str = field(repr=False)
    channel: str
    files: tuple[RowFile, ...]
    """Of one layout, in log order (`sections`)."""
    low: LogKey
    high: LogKey
    table: Table
    """The source's shape valid for these rows."""
    target: Table
    """The target's shape at this moment; columns belong together by id."""
    target_name: TableName
    """Of the table to change (a partition's own)."""
    stage_name: str
    """Unique per channel, target, table, section and bucket."""
    values: ChangeValues = field(repr=False)
    """What converts the trail's values, which are the source's."""
    skip_lsns: frozenset[int] = frozenset()
    """Commit positions of transactions that a refresh already contains."""
    bucket: int = 0
    """Which part of the keys."""
    buckets: int = 1
    token: int = 0
    """Of the run."""
    carried: int = 0
    """How many bytes of rows may travel with the task's result to the transaction that merges them."""
    condition: str = ""
    """Of the rows that the target takes, over `whole`; empty: it takes all."""
    whole: Table | None = None
    """The source's table with what the target does not have, where a condition or a function may look at it."""
    transform: Transform | None = None
    """What computes values of the rows, from those of `whole`."""
    transactions: tuple[Blob, ...] = ()
    """Files of the trail with the transactions of these rows, where a column of the target takes their values."""
    own: OwnColumns = NO_SETTINGS.columns
    """The key, columns and types of the target's own."""
    ignored: frozenset[RowKind] = frozenset()
    """The kinds of changes that the target does not take."""
    is_resilient: bool = False
    """May rows that it inserts be there already, and rows that it changes be missing?"""
    conflicts: ConflictAnswers | None = None
    """The answers to conflicts; None: none are looked for."""
    discarded: frozenset[tuple[str, ...]] = frozenset()
    """Keys of the rows that the target has discarded."""
    whole_rows: str = "let the source's log have the table's whole old rows: `ddlrepl activate` does it, or says how"
    """How the source's log comes to have whole old rows, as a hint."""

    @property
    def logged(self) -> Table:
        """Return the source's table with all columns that a condition or a function may look at."""
        return self.whole or self.table


def sections(files: Sequence[RowFile], buckets: int = 1) -> list[tuple[RowFile, ...]]:
    """Return files of the trail, in log order, as sections that are staged and merged one after the other.

    The files of a section are of one layout, and of no more rows than so many buckets may hold in memory. A section may
    end inside a transaction: the source went through the state there, too, and nobody sees it at the target before the
    whole is committed.
    """
    found: list[tuple[RowFile, ...]] = []
    for _, run in groupby(files, layout_of):
        found.append(())
        for file in run:
            if found[-1] and rows_in_memory((*found[-1], file)) > ROWS_PER_SECTION * buckets:
                found.append(())
            found[-1] += (file,)
    return found


def rows_in_memory(files: Sequence[RowFile]) -> int:
    """Return how many rows the files count as in memory; a large row counts as several."""
    return sum(max(file.rows, file.memory // ROW_BYTES) for file in files)


def tasks_of_one_merge(files: Sequence[RowFile], parallelism: int) -> int:
    """Return into how many tasks rows may be split that one merge takes all together: none has more than fit in memory.

    Where keys may change, one task may have to take all rows of a section: so there are no more of them than otherwise.
    """
    if any(file.key_updates for file in files):
        return parallelism
    return max(parallelism, -(-rows_in_memory(files) // ROWS_PER_SECTION))


def most_buckets(table: Table, files: Sequence[RowFile], parallelism: int, types: TypeSystem) -> int:
    """Return into how many buckets these rows may be split by their key; 1 where they can only be merged all together.

    types: of the target, which finds keys equal or not. Where the log has whole old rows it shows when they are read
    whether a key changes, which is rare.
    """
    keys = [types.equality(column, "", table.types) for column in table.key_columns()]
    is_moved = any(file.key_updates and file.identity is not Identity.FULL for file in files)
    return 1 if not keys or Equality.TARGET in keys or is_moved else parallelism


def groups(tasks: Sequence[StageTask], parallelism: int) -> list[list[int]]:
    """Return which tasks are worth one connection together: each large one alone, the small ones evenly spread.

    A task is named by its place among them.
    """
    sizes = [rows_in_memory(task.files) // task.buckets for task in tasks]
    big = [[place] for place, size in enumerate(sizes) if size > ROWS_ALONE]
    small = sorted((place for place, size in enumerate(sizes) if size <= ROWS_ALONE), key=lambda place: -sizes[place])
    spread = [small[i::parallelism] for i in range(parallelism)]
    return [*big, *(group for group in spread if group)]


def carrying(tasks: Sequence[StageTask], part: Sequence[int]) -> list[StageTask]:
    """Return some of these tasks, by their places, with their share of the bytes that may travel with results."""
    return [replace(tasks[place], carried=CARRIED_BYTES // len(tasks)) for place in part]


def buckets_of(task: StageTask, buckets: int) -> list[StageTask]:
    """Return a task split into this many tasks, one for each bucket."""
    return [
        replace(
            task, bucket=i, buckets=buckets, stage_name=f"{task.stage_name}_{i}" if buckets > 1 else task.stage_name
        )
        for i in range(buckets)
    ]


def layout_of(file: RowFile) -> tuple[object, ...]:
    """Return a value that is equal for two files of the trail if they have the same columns."""
    return file.identity, tuple((c.name, c.encoding, c.is_key) for c in file.columns)
