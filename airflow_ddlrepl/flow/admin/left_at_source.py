"""What stays at the source of the tables that a target replicates: defaults, checks and expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus


def left_at_source(
    context: RunContext, target: str, table_states: Iterable[TableState], latest: Mapping[int, Revision]
) -> Mapping[int, tuple[str, ...]]:
    """Return, by table, what this target leaves out of its shape, each with the reason; nothing of most tables.

    latest: the newest revisions of the channel's tables.
    """
    known = ((state, latest[state.table_id].table) for state in table_states if state.table_id in latest)
    tables = [
        (state, table)
        for state, table in known
        if table is not None and state.state is not TableStatus.ORPHANED and table.has_expressions
    ]
    return _of_tables(context, target, tables) if tables else {}


def _of_tables(
    context: RunContext, target: str, tables: Iterable[tuple[TableState, Table]]
) -> dict[int, tuple[str, ...]]:
    """Return what the target leaves out of tables with expressions; the planner is imported for these only."""
    from airflow_ddlrepl.adapt.plan.plan import target_shape
    from airflow_ddlrepl.adapt.shape.target_shape import Note
    from airflow_ddlrepl.adapt.target_facts import TargetFacts
    from airflow_ddlrepl.flow.mapping.server_traits import target_server
    from airflow_ddlrepl.flow.mapping.tables import seen_at

    server = target_server(context, context.target(target).facts())
    found: dict[int, tuple[str, ...]] = {}
    for state, table in tables:
        notes: list[Note] = []
        try:
            seen = seen_at(context.channel.at(target), table)
            target_shape(seen, facts=TargetFacts(server, name_after=state.name), note=notes.append)
        except DdlReplError:  # such a table is suspended, with this error as its reason
            continue
        if told := tuple(note.text for note in notes if note.is_told):
            found[state.table_id] = told
    return found
