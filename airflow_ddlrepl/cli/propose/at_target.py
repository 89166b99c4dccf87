"""Ask a target what an activation and the first load ask, for tables that the source has; nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.shape.source_expressions import require_texts
from airflow_ddlrepl.adapt.shape.target_shape import Note, become_text
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.engines import of_targets
from airflow_ddlrepl.errors import ConfigError, DdlReplError, TargetError, Unreachable, Unsupported
from airflow_ddlrepl.flow.mapping.existing_tables import refuse_foreign
from airflow_ddlrepl.flow.mapping.initial_state import pending_state
from airflow_ddlrepl.flow.mapping.server_traits import target_server, trait_differences
from airflow_ddlrepl.flow.mapping.tables import seen_at
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.targets.preparation import require_preparable
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.scope.decide import taken_tables
from airflow_ddlrepl.sql.expressions.allowed import user_functions


@dataclass
class AtTarget:
    """This is what a target answers about the tables of a channel that does not run yet.

    detail: a sentence. missing: what has to be done there first. told: in what its server is unlike the source's.
    refused: by table id, why the channel can't have it. notes: by table id. away: why it does not answer.
    """

    detail: str = ""
    missing: list[Problem] = field(default_factory=list)
    told: tuple[str, ...] = ()
    refused: dict[int, str] = field(default_factory=dict)
    notes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    away: DdlReplError | None = None


def ask_target(run: RunContext, tables: Sequence[Table]) -> AtTarget:
    """Ask the channel's first target about these tables; one that is away leaves the questions open."""
    name, found = run.channel.targets[0].name, AtTarget()
    mine = taken_tables(run.channel.at(name), tables)
    schemas = {run.channel.at(name).target_name(table.name).schema for table in mine}
    try:
        location = resolve(run.channel.targets[0].location)
        found.detail, fix = of_targets(location).target_rights(location, sorted(schemas))
        found.missing += [Problem(found.detail, fix)] if fix else []
        found.told = tuple(trait_differences(run, name))
        states = _states(run, name, mine, found)
        _notes(run, name, states, {table.id: table for table in mine}, found)
        _require_room(run, name, states, {table.id: table for table in mine}, found)
    except (Unreachable, ConfigError) as error:
        found.away = error
    return found


def _states(run: RunContext, name: str, tables: Sequence[Table], found: AtTarget) -> dict[int, TableState]:
    """Return the state in which each table would wait there for its rows, but of those that are refused."""
    states: dict[int, TableState] = {}
    facts = run.target(name).facts()
    each = _error(partial(require_preparable, run, name, tables)) is not None  # only then one by one
    for table in tables:
        error = _error(partial(require_preparable, run, name, [table])) if each else None
        error = error or _error(partial(_require_texts, run, name, table))
        try:
            if error is None:
                states[table.id] = pending_state(run.channel.at(name), table, facts)
        except Unsupported as refused:
            error = refused
        if isinstance(error, TargetError):  # it is the source's own database, or the like: not a matter of this table
            found.missing.append(_as_problem(error, ""))
            return {}
        if error is not None:
            found.refused[table.id] = f"{error.message} ({error.code}): {error.hint}"
    return states


def _require_texts(run: RunContext, name: str, table: Table) -> None:
    """Raise Unsupported where the target can't have the table's expressions, as its first load would."""
    facts, seen = run.target(name).facts(), seen_at(run.channel.at(name), table)
    functions = user_functions(seen.partition_key)
    require_texts(seen, facts.version, facts.strange(functions))
    if lacking := sorted(facts.lacking(functions)):
        names = ", ".join(str(TableName(*one)) for one in lacking)
        what = f"its partition key calls {names}, which the target lacks"
        raise Unsupported(
            what, code="ADP-191", table=table.name, hint="create it there as at the source, run init again"
        )


def _notes(
    run: RunContext, name: str, states: Mapping[int, TableState], tables: Mapping[int, Table], found: AtTarget
) -> None:
    """Note what of each table is not at the target as at the source, as its first load would tell it."""
    server = target_server(run, run.target(name).facts())
    for i, state in states.items():
        seen, notes = seen_at(run.channel.at(name), tables[i]), list[Note]()
        facts = TargetFacts(server, name_after=state.name)
        held = target_shape(seen, facts=facts, note=notes.append)
        told = [f"unlike the source: {note.text}" for note in notes if note.is_told]
        found.notes[i] = (*become_text(seen, held, facts), *told)


def _require_room(
    run: RunContext, name: str, states: Mapping[int, TableState], tables: Mapping[int, Table], found: AtTarget
) -> None:
    """Add the tables whose place at the target somebody else has: they would wait until that is solved."""
    place, facts = run.channel.target(name), run.target(name).facts()
    shapes = {i: replace(state.shape, name=state.name) for i, state in states.items()}
    strange = facts.owned_by_strangers(list(shapes.values()))
    facts.look([shape.name for shape in shapes.values()])
    for i, shape in shapes.items():
        error: DdlReplError | None = strange.get(shape.name)
        if error is None and facts.table(shape.name) is not None:
            error = _error(partial(refuse_foreign, place, facts, shape.name, tables[i].name))
        if error is not None:
            found.missing.append(_as_problem(error, str(tables[i].name)))


def _error(check: Callable[[], object]) -> DdlReplError | None:
    """Return why a check refuses, and None where it does not; that a server does not answer is raised."""
    try:
        check()
    except (Unreachable, ConfigError):
        raise
    except DdlReplError as error:
        return error
    return None


def _as_problem(error: DdlReplError, table: str) -> Problem:
    what = f"{error.message} ({error.code})"
    return Problem(f"{table}: {what}" if table else what, error.hint)
