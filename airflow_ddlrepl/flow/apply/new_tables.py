"""A table may be new to a target, or be made anew there under another name; these functions say what that needs."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.policy import Policy, makes_two_of_rename, policy_at
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.places import beside
from airflow_ddlrepl.config.sections.policies import OnDropTable
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.errors import CannotAdapt, NameOutside
from airflow_ddlrepl.flow.apply.renamed_tables import becomes_another
from airflow_ddlrepl.flow.mapping.existing_tables import refuse_foreign, refuse_strangers
from airflow_ddlrepl.flow.mapping.tables import same_name
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.change import Event, why_ignored
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus


def former_policy(at: ChannelAt, source_before: Table | None, new: Table | None, event: Event) -> Policy | None:
    """Return the policy of the old name of a table whose new name makes another table of it; None: it does not.

    source_before, new: the source's table before and after the statement.
    """
    if source_before is None or new is None:
        return None
    is_others = becomes_another(at, source_before, new)
    if not is_others and not makes_two_of_rename(at.channel, source_before, new):
        return None
    found = policy_at(at, source_before.name, source_before.name, why_ignored(event))
    if is_others:
        found = replace(found, on_drop_table=OnDropTable.DROP_FROM_CHANNEL_ONLY)
    return found if found.adapts else None


def was_there(run: RunContext, source_before: Table | None, table_id: int, event: Event) -> bool:
    """Return whether a table that is new to a target was at the source before: it may have rows from then.

    source_before: the source's table before the statement; None: the channel did not have it then.
    """
    known = run.repository.revisions(run.channel.name, table_id) if source_before is None else []
    return source_before is not None or any(one.table is not None and one.key < event.key for one in known)


def is_renamed(run: RunContext, target: str, other: TableState, new: Table, known: Table | None) -> bool:
    """Return whether two tables have one name at the source: the log shows the other's new name later.

    A transaction whose snapshot is older than a table does not record what it does to that. known: the other table at
    the source, at the place of the new one.
    """
    if other.state is TableStatus.SUSPENDED:  # that it was renamed, or dropped, is not done here yet
        name_of = run.channel.at(target).target_name
        return known is None or name_of(known.name) != name_of(new.name)
    return other.state in (TableStatus.LIVE, TableStatus.PENDING) and known is not None and known.name == new.name


def name_in_use(run: RunContext, target: str, other_id: int, other: TableName, new: TableName) -> CannotAdapt:
    """Return the error of a new table whose name another one has at a target. other: its name at the source then.

    ADP-146 where the file gives both one name. ADP-158 where the other one has got its name by a later change, which
    the target has applied: the new table was suspended, and comes too late for its place in the log.
    """
    name_of = run.channel.at(target).target_name
    name = name_of(new)
    latest = run.repository.latest_revisions(run.channel.name).get(other_id)
    is_late = latest is not None and latest.table is not None and name_of(latest.table.name) == name
    if not is_late or name_of(other) == name:
        return same_name(name, other, new)
    return NameOutside(
        f"{new} can't be brought up from the log: {other} has got its name at the target by a later change",
        code="ADP-158",
        table=new,
        hint="`ddlrepl refresh CHANNEL.yaml --table …` loads it as it is now",
    )


def refuse_occupied(run: RunContext, target: str, facts: ServerFacts, new: Table) -> None:
    """Raise Unsupported where a table with rows that the channel did not write has a new table's name.

    Also ADP-146 where another table's second TARGET, or a later one, has that name.
    facts: what the server there has. None of the channel's tables there has that name.
    """
    place = run.channel.target(target)
    name = run.channel.at(target).target_name(new.name)
    for other in beside(target, run.channel.targets):
        state = run.target(other).find_state()
        for one in state.table_states.values() if state is not None else ():
            if one.name == name and one.table_id != new.id:
                source = run.repository.latest_revisions(run.channel.name)[one.table_id].table
                raise same_name(name, source.name if source is not None else one.name, new.name)
    refuse_strangers(facts, [new.with_(name=name)])
    refuse_foreign(place, facts, name, new.name)
