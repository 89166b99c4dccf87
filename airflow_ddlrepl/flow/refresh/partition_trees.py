"""A refresh changes partitioned tables before it loads their partitions, or together with them where rows forbid it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_ddlrepl.flow.refresh.row_origin import TableLoad
from airflow_ddlrepl.flow.run.context import log
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState

if TYPE_CHECKING:
    from airflow_ddlrepl.flow.refresh.table_loader import TableLoader


@dataclass(frozen=True, slots=True)
class PartitionTree:
    """A partition tree is a partitioned table that can change only together with all its partitions.

    parents: the partitioned tables, the highest first. leaves: the partitions with rows.
    """

    parents: Sequence[TableLoad]
    leaves: Sequence[TableLoad]


def place_parents(
    loader: TableLoader, loads: dict[int, TableLoad]
) -> tuple[list[tuple[TableState, int]], list[PartitionTree]]:
    """Create or change the partitioned tables; return those that are done, and those that wait for their partitions.

    Tables below one that the target refuses are left out of `loads`.
    """
    tables = [load.table for load in loads.values()]
    done: list[tuple[TableState, int]] = []
    trees: list[PartitionTree] = []
    waiting = set[int]()
    for table in sorted((t for t in tables if t.is_partitioned), key=lambda t: _depth(t, tables)):
        if table.id not in loads or table.id in waiting:
            continue
        loader.context.check_lock()
        after, below = loads[table.id].after, _below(table, tables)
        with loader.error_isolation(table):
            if loader.loader.place_parent(after, loader.before(table), loader.context.fence):
                done.append((after, 0))
            else:
                trees.append(_tree([loads[i] for i in below if i in loads], tables))
                waiting |= below
            continue  # else the target has refused it
        for table_id in below & loads.keys():
            del loads[table_id]
    return done, trees


def exchange(loader: TableLoader, tree: PartitionTree, counts: Mapping[int, int]) -> set[int]:
    """Change a tree and put its loaded partitions in place, all at once; return the ids of its tables if that was done.

    counts: the rows of each table that was loaded. Where a partition is missing there, the tree stays as it is: the
    error about that partition has been raised or stored.
    """
    root = tree.parents[0].table
    if missing := [str(load.table.name) for load in tree.leaves if load.table.id not in counts]:
        log.warning("%s stays as it is: its partition %s is not loaded", root.name, missing[0])
        return set()
    parents = [(load.after, loader.before(load.table)) for load in tree.parents]
    placings = [loader.placing(load, counts[load.table.id]) for load in tree.leaves]
    loader.context.check_lock()
    with loader.error_isolation(root):
        done = loader.loader.exchange_tree(parents, placings, loader.context.fence)
        for load, how in zip(tree.leaves, done, strict=True):
            log.info(
                "refreshed %s: %d rows, %s, with all of %s", load.table.name, counts[load.table.id], how, root.name
            )
        return {load.table.id for load in (*tree.parents, *tree.leaves)}
    return set()


def _tree(loads: Sequence[TableLoad], tables: Sequence[Table]) -> PartitionTree:
    parents = sorted((load for load in loads if load.table.is_partitioned), key=lambda x: _depth(x.table, tables))
    return PartitionTree(parents, [load for load in loads if not load.table.is_partitioned])


def _below(table: Table, tables: Sequence[Table]) -> set[int]:
    """Return the ids of a table and of all those below it."""
    found = {table.id}
    while more := {t.id for t in tables if t.partition and t.partition.of in found} - found:
        found |= more
    return found


def _depth(table: Table, tables: Sequence[Table]) -> int:
    """Return how many partitioned tables a table is below."""
    by_id = {t.id: t for t in tables}
    depth, at = 0, table
    while at.partition is not None and at.partition.of in by_id:
        depth, at = depth + 1, by_id[at.partition.of]
    return depth
