"""This module loads the chunks of tables as tasks that run in any process, and collects their results."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.engines import of_targets
from airflow_ddlrepl.engines.chunks import group_chunks
from airflow_ddlrepl.errors import TargetError, UnreadableTable
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.ports.work import Runner

log = logging.getLogger("ddlrepl")


@dataclass(frozen=True, slots=True)
class LoadTask:
    """A load task loads one chunk of a table. It is picklable; its text never shows a location.

    rows: of the source's table, which errors name. read: the names of the columns that the rows have. columns: of the
    shadow table, in their order. is_alike: do all of them have the types that they have at the source? token: of this
    refresh; chunk: unique in it. after: statements that are run and committed with the rows, for a table that is one
    chunk; then its statistics are gathered. by_text: those of the target's columns that read the text which the
    source's type writes, because the channel file gives them another type.
    """

    target_dsn: str = field(repr=False)
    rows: RowSource
    table: TableName
    shadow: TableName
    read: tuple[str, ...]
    columns: tuple[str, ...]
    token: str
    chunk: str
    is_alike: bool = True
    after: tuple[str, ...] = ()
    by_text: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedChunk:
    """A loaded chunk is the result of a load task.

    rows: how many were loaded. warning: empty, or what is told: of values that do not fit, or of missing statistics.
    error: TGT-120, where the target refuses the chunk, or why the source's table can't be read: none of its rows is
    loaded then.
    """

    rows: int = 0
    warning: str = ""
    error: TargetError | UnreadableTable | None = None


@dataclass(frozen=True, slots=True)
class FinishTask:
    """A finish task finishes a shadow table that was loaded in several chunks.

    It is picklable; its text never shows the location. table: what it is to become. statements: what it still needs.
    """

    target_dsn: str = field(repr=False)
    table: TableName
    shadow: TableName
    statements: tuple[str, ...]


Work = tuple[Table, LoadTask]
"""One chunk: its table, and the task that loads it."""


@dataclass
class Loads:
    """Loads are the results of loading tables, by table id.

    rows: how many, of tables that can be put in place. refused: why a table can't be read, or the target can't take it.
    warnings: what else is told of them.
    """

    rows: dict[int, int] = field(default_factory=dict)
    refused: dict[int, TargetError | UnreadableTable] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, table: Table, chunk: LoadedChunk) -> None:
        """Add the result of one chunk to its table's: count its rows, or note that the target refuses it."""
        self.rows[table.id] = self.rows.get(table.id, 0) + chunk.rows
        if chunk.warning:
            self.warnings.append(f"{table.name}: {chunk.warning}")
            log.warning("%s", self.warnings[-1])
        if chunk.error is not None:
            self.refused.setdefault(table.id, chunk.error)

    def raise_refused(self) -> None:
        """Raise the first refusal, if there is one; for loads of which all must be there."""
        for error in self.refused.values():
            raise error


def load_chunks(tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
    """Load chunks of one refresh one after the other, in this process; a refused chunk does not stop the others.

    Run twice, each is loaded once. Raises SourceError SRC-170 when the source is gone, Unreachable or DiskFull when the
    target can't go on, and what `values` of a transformation raises.
    """
    return of_targets(tasks[0].target_dsn).load(tasks)


def finish_shadow(task: FinishTask) -> LoadedChunk:
    """Make the key and the statistics of a loaded shadow table; nothing that exists already is done again.

    No rows are loaded here: what comes back is a warning, or the error TGT-121 where the rows take no key.
    """
    return of_targets(task.target_dsn).finish_shadow(task)


def load_tables(runner: Runner, work: Sequence[Work], finishing: Mapping[int, FinishTask], size: int) -> Loads:
    """Load every chunk, then make each table's key and statistics: together with its rows, where it is a single chunk.

    finishing: by table id. size: bytes of all chunks. A table that can't be read, or that the target refuses, does not
    stop the others.
    """
    often = Counter(table.id for table, _ in work)
    tasks = [
        replace(task, after=finishing[table.id].statements) if often[table.id] == 1 else task for table, task in work
    ]
    groups = group_chunks([task.rows.size for _, task in work], runner.parallelism)
    bundles = [tuple(tasks[place] for place in group) for group in groups]
    loads = Loads(dict.fromkeys(finishing, 0))
    for group, found in zip(groups, runner.map(load_chunks, bundles, "refresh", size=size), strict=True):
        for place, chunk in zip(group, found, strict=True):
            loads.add(work[place][0], chunk)
    large = {table.id: table for table, _ in work if often[table.id] > 1 and table.id not in loads.refused}
    with ThreadPoolExecutor(max(1, runner.parallelism)) as pool:  # the target works, we wait
        finished = pool.map(finish_shadow, [finishing[table_id] for table_id in large])
        for table, chunk in zip(large.values(), finished, strict=True):
            loads.add(table, chunk)
    for table_id, error in loads.refused.items():
        log.warning("%s is not loaded: %s: %s", error.table, error.code, error.message)
        del loads.rows[table_id]
    return loads
