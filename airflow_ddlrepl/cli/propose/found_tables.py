"""Look at a channel's source and target as an activation would, and change nothing there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_ddlrepl.cli.propose.at_target import AtTarget, ask_target
from airflow_ddlrepl.engines.source_catalog import LeftOut, OtherRelation
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.installation import Problem, ServerProfile
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.scope.decide import ChangeKind, decide

LONG_SECONDS = 5.0
NOT_DECODABLE = "its name, or another text of it, has bytes that are no UTF-8"
NO_KEY = "no key: activation sets REPLICA IDENTITY FULL, whole rows are compared"


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A found table is a table of the source that the channel would have.

    rows, size: by the statistics, and in bytes, with its partitions. left_out: why its rows can't be replicated.
    refused: why the channel file must not name it; empty: it may. notes: what is particular about it.
    """

    name: TableName
    rows: int = 0
    size: int = 0
    key: tuple[str, ...] = ()
    partitions: int = 0
    left_out: str = ""
    refused: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """A survey is what was found at the source and the target of a channel that does not run yet.

    tables: without partitions, by name. others: what is no table. missing: what has to be done at the source before an
    activation. warnings: of the source. there: the target's answer.
    """

    source: str
    profile: ServerProfile
    tables: tuple[FoundTable, ...]
    others: tuple[OtherRelation, ...]
    missing: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    there: AtTarget

    @property
    def is_ready(self) -> bool:
        """Return whether an activation lacks nothing that was looked at."""
        return not (self.missing or self.there.missing or self.there.away)


def inspect_places(run: RunContext) -> Survey:
    """Look at the channel's source and its first target. Raises what connecting to the source raises."""
    catalog = run.source.catalog
    profile = catalog.profile()
    named = {i: name for i, name in catalog.list_tables().items() if _is_taken(run, name)}
    named = {i: n for i, n in catalog.with_partitions(named).items() if i in named or not _is_excluded(run, n)}
    shapes = {table.id: table for table in catalog.inspect(sorted(named))}
    there = ask_target(run, list(shapes.values()))
    return Survey(
        run.source.describe(),
        profile,
        tuple(sorted(_found(run, named, shapes, there), key=lambda one: one.name)),
        tuple(catalog.other_relations()),
        (*run.source.missing_rights(), *run.source.activation_blockers(LONG_SECONDS)),
        tuple(run.source.dangers()),
        there,
    )


def _is_taken(run: RunContext, name: TableName) -> bool:
    return decide(run.capture_client, name, ChangeKind.TABLE).is_taken


def _is_excluded(run: RunContext, name: TableName) -> bool:
    return decide(run.capture_client, name, ChangeKind.TABLE).is_excluded


def _found(
    run: RunContext, named: Mapping[int, TableName], shapes: Mapping[int, Table], there: AtTarget
) -> Iterator[FoundTable]:
    """Yield the tables; a partitioned one has the rows and bytes of its partitions."""
    catalog = run.source.catalog
    sizes, rows = catalog.sizes(list(named)), catalog.estimated_rows(list(named.values()))
    left_out = {one.table_id: one for one in catalog.would_leave_out(list(shapes.values()))}
    out = {i: one.why for i, one in left_out.items() if not one.is_reloaded}
    parts: dict[int, list[int]] = {}
    for table in shapes.values():
        parts.setdefault(_root(table, shapes), []).append(table.id)
    for table_id, name in named.items():
        shape = shapes.get(table_id)
        if shape is None:
            yield FoundTable(name, left_out=NOT_DECODABLE)
        elif table_id in parts:
            ids = parts[table_id]
            yield FoundTable(
                name,
                sum(rows.get(shapes[i].name, 0) for i in ids),
                sum(sizes.get(i, 0) for i in ids),
                tuple(shape.column(i).name for i in shape.key.columns) if shape.key else (),
                len(ids) - 1,
                _first(table_id, ids, out, shapes),
                _first(table_id, ids, there.refused, shapes),
                (*_own_notes(shape, left_out.get(table_id)), *_notes(ids, there.notes)),
            )


def _first(table_id: int, ids: Sequence[int], reasons: Mapping[int, str], shapes: Mapping[int, Table]) -> str:
    """Return the reason of a table, or of the first of its partitions that has one, with its name; empty: none has."""
    if table_id in reasons:
        return reasons[table_id]
    return next((f"its partition {shapes[i].name}: {reasons[i]}" for i in ids if i in reasons), "")


def _notes(ids: Sequence[int], notes: Mapping[int, tuple[str, ...]]) -> Iterator[str]:
    """Yield the notes of a table and its partitions, each once."""
    yield from dict.fromkeys(note for i in ids for note in notes.get(i, ()))


def _root(table: Table, shapes: Mapping[int, Table]) -> int:
    """Return the id of the table that a partition is of in the end; of another table, its own."""
    while table.partition is not None and table.partition.of in shapes:
        table = shapes[table.partition.of]
    return table.id


def _own_notes(table: Table, left_out: LeftOut | None) -> Iterator[str]:
    if left_out is not None and left_out.is_reloaded:
        yield f"{left_out.why}; so it is loaded whole, in every cycle unless `reload_every` says otherwise"
    elif table.key is None and left_out is None and not table.is_partitioned:
        yield NO_KEY
    if table.second_key is not None:
        yield "its primary key is not what rows are found by (deferrable, generated, or beside a replica identity)"
