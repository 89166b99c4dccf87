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
from airflow_ddlrepl.ports.types import Equality, TypeSystem
from airflow_ddlrepl.trail.manifest import Blob, RowFile

ROWS_ALONE = 100_000
ROWS_PER_BUCKET = 1_000_000
ROWS_PER_SECTION = 1_250_000  # and bucket
ROW_BYTES = 512  # a row of more counts as several


@dataclass(frozen=True, slots=True)
class StageTask:
    """A stage task stages one table's rows in [low, high) for its target. It is picklable; its text shows no location.

    dsn: of the target. files: of one layout, in log order (`sections`). skip_lsns: commit positions of transactions
    that a refresh already contains.
    table: the source's shape valid for these rows. target: the target's shape at this moment; columns
    belong together by id. target_name: of the table to change (a partition's own). bucket, buckets:
    which part of the keys. stage_name: unique per channel, target, table, section and bucket. token: of the run.
    condition: of the rows that the target takes, over `whole`, the source's table with what the target does not have.
    transform: what computes values of the rows, from those of `whole`. transactions: files of the trail that have the
    transactions of these rows, where a column of the target takes their values. own: the key, columns and types
    of the target's own. ignored: the kinds of changes that the target does not take. is_resilient: rows that it inserts
    may be there already, and rows that it changes may be missing. conflicts: the answers to conflicts; None: none are
    looked for. discarded: keys of the rows that the target has discarded. whole_rows: how the source's log comes to
    have whole old rows, as a hint.
    """

    dsn: str = field(repr=False)
    trail_url: str = field(repr=False)
    channel: str
    files: tuple[RowFile, ...]
    low: LogKey
    high: LogKey
    table: Table
    target: Table
    target_name: TableName
    stage_name: str
    skip_lsns: frozenset[int] = frozenset()
    bucket: int = 0
    buckets: int = 1
    token: int = 0
    condition: str = ""
    whole: Table | None = None
    transform: Transform | None = None
    transactions: tuple[Blob, ...] = ()
    own: OwnColumns = NO_SETTINGS.columns
    ignored: frozenset[RowKind] = frozenset()
    is_resilient: bool = False
    conflicts: ConflictAnswers | None = None
    discarded: frozenset[tuple[str, ...]] = frozenset()
    whole_rows: str = "let the source's log have the table's whole old rows: `ddlrepl activate` does it, or says how"


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
