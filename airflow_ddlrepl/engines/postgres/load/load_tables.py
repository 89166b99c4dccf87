"""Load the shadow tables of one target and tell, per table, how many rows came or why the target refuses it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.engines.postgres.load.load_chunk import LoadedChunk, LoadTask, load_chunks
from airflow_ddlrepl.engines.postgres.load.swap import FinishTask, finish_shadow
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.work import Runner
from airflow_ddlrepl.refresh.chunks import group_chunks

log = logging.getLogger("ddlrepl")
Work = tuple[Table, int, LoadTask]
"""One chunk: its table, its pages, the task that loads it."""


@dataclass
class Loads:
    """What became of tables that were loaded, by table id.

    rows: how many, of tables that can be put in place. refused: why the target can't take a table; its rows are left.
    """

    rows: dict[int, int] = field(default_factory=dict)
    refused: dict[int, TargetError] = field(default_factory=dict)

    def add(self, table: Table, chunk: LoadedChunk) -> None:
        """Count a chunk of a table, or note that the target refuses it."""
        self.rows[table.id] = self.rows.get(table.id, 0) + chunk.rows
        if chunk.warning:
            log.warning("%s: %s", table.name, chunk.warning)
        if chunk.error is not None:
            self.refused.setdefault(table.id, chunk.error)

    def raise_refused(self) -> None:
        """Raise the first refusal, for loads of which all must be there."""
        for error in self.refused.values():
            raise error


def load_tables(runner: Runner, work: Sequence[Work], finishing: Mapping[int, FinishTask], size: int) -> Loads:
    """Load every chunk, then give each table its key and statistics: with its rows, where it is a single chunk.

    finishing: by table id. size: bytes of all chunks. A table that the target refuses keeps no other from its rows.
    """
    often = Counter(table.id for table, _, _ in work)
    tasks = [
        replace(task, after=finishing[table.id].statements) if often[table.id] == 1 else task for table, _, task in work
    ]
    groups = group_chunks([pages for _, pages, _ in work], runner.parallelism)
    bundles = [tuple(tasks[place] for place in group) for group in groups]
    loads = Loads(dict.fromkeys(finishing, 0))
    for group, found in zip(groups, runner.map(load_chunks, bundles, "refresh", size=size), strict=True):
        for place, chunk in zip(group, found, strict=True):
            loads.add(work[place][0], chunk)
    large = {table.id: table for table, _, _ in work if often[table.id] > 1 and table.id not in loads.refused}
    with ThreadPoolExecutor(max(1, runner.parallelism)) as pool:  # the target works, we wait
        finished = pool.map(finish_shadow, [finishing[table_id] for table_id in large])
        for table, chunk in zip(large.values(), finished, strict=True):
            loads.add(table, chunk)
    for table_id, error in loads.refused.items():
        log.warning("%s is not loaded: %s: %s", error.table, error.code, error.message)
        del loads.rows[table_id]
    return loads
