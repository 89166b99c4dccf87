"""A target has a source table in a shape of its own: what can follow without harm is in it, the rest is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from airflow_ddlrepl.adapt.shape.source_expressions import OLDEST, Evaluable
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.ddl.sql.expression import Dependence, dependence_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Partition, Table, replaced, same_or
from airflow_ddlrepl.model.target_columns import is_of_channel_file
from airflow_ddlrepl.model.types import DataType, Family, TypeDefinition, TypeFamily, TypeKind
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.sql.expressions.allowed import Use

NOT_VALID = " NOT VALID"


class Note(NamedTuple):
    """A note says, for people, what the target's shape leaves out of a table.

    is_left: it stays at the source only. is_told: loads tell of it, too; not of what follows at the end of a cycle.
    """

    text: str
    is_left: bool = False
    is_told: bool = True


TakeNote = Callable[[Note], None]
HeldColumns = tuple[tuple[TypeDefinition, ...], tuple[Column, ...], tuple[Note, ...]]


def hold(table: Table, name: TableName | None, facts: TargetFacts, note: TakeNote = lambda one: None) -> Table:
    """Return the target's shape of a source table; of a target's shape, itself. note: is called with what is left out.

    Defaults that draw from sequences stay behind (they follow at the end of a cycle), and those that call the user's
    functions or what no target runs for its source, and checks of a domain that are not valid for all its values; an
    identity column lets values in, types that the target lacks become text, a column whose collation it lacks has the
    default one, a partition without a replicated parent is a table of its own.
    """
    partition = _partition(table.partition, facts)
    if table.types or partition is not None:
        types, columns, notes = _representable(table, partition, facts)
    else:
        types, columns, notes = facts.server.held.of((table.columns,), None, lambda: _representable(table, None, facts))
    for one in notes:
        note(one)
    keys = _named_keys(table, facts)
    return table.with_(name=name or table.name, partition=partition, types=types, columns=columns, **keys)


def _representable(table: Table, partition: Partition | None, facts: TargetFacts) -> HeldColumns:
    known, notes = Evaluable(table, facts.server.version), list[Note]()
    types = _types(table.types, known, facts, notes.append)
    columns = same_or(table.columns, (_column(c, partition, known, facts, notes.append) for c in table.columns))
    is_used = any(not c.type.is_builtin for c in columns)
    return types if is_used else (), columns, tuple(notes)


def valued(table: Table) -> tuple[Column, ...]:
    """Return the columns of a source's table whose values some target may store; every target computes the others."""
    known = Evaluable(table, OLDEST)
    return tuple(c for c in table.columns if not c.generated or _may_be_stored(c, known))


def _may_be_stored(column: Column, known: Evaluable) -> bool:
    text = column.default or ""
    return bool(known.why_not(text, Use.GENERATED) or (column.generated == "stored" and known.may_vary(text)))


def _column(
    column: Column, partition: Partition | None, known: Evaluable, facts: TargetFacts, note: TakeNote
) -> Column:
    if is_of_channel_file(column):
        return column
    column = _collated(_typed(column, known.types, facts), facts, note)
    if column.generated:
        return _generated(column, known, facts, note)
    if column.identity:
        inherited = partition is not None and facts.server.version < 17
        return replace(column, identity="" if inherited else "by default")
    if column.default is None:
        return column
    draws = dependence_of(column.default, known.types) is Dependence.SEQUENCE
    why = str(Dependence.SEQUENCE) if draws else known.why_not(column.default, Use.DEFAULT)
    why = why or facts.server.type_system.why_no_default(column, known.definitions)
    if not why:
        return column
    where = "follows with `db_sequence` alone" if draws else "stays at the source"
    note(Note(f"column {column.name}: the default {column.default} {why}; it {where}", True, is_told=not draws))
    return replace(column, default=None)


def _typed(column: Column, known: Collection[tuple[str, str]], facts: TargetFacts) -> Column:
    of, server = column.type, facts.server
    if of.is_builtin and not server.type_system.has(of) and not server.has_builtin(of.name):
        return replace(column, type=server.type_system.text, collation=None, default=None, generated="")
    if (
        of.is_builtin
        or server.type_system.has(of)
        or of.extension in server.extensions
        or (of.schema, of.name) in known
    ):
        return column
    return replace(column, type=server.type_system.text, collation=None)


def _collated(column: Column, facts: TargetFacts, note: TakeNote) -> Column:
    if column.collation is None or facts.server.has_collation(column.collation):
        return column
    why = f"the target lacks the collation {column.collation}; it has the database's there"
    note(Note(f"column {column.name}: {why}", is_left=True))
    return replace(column, collation=None)


def become_text(table: Table, representable: Table, facts: TargetFacts) -> tuple[str, ...]:
    """Return warnings that name the columns whose values travel as text, because the target can't have their type.

    representable: see `hold`.
    """
    server = facts.server
    if server.source_types is not None:
        return tuple(_held_as_text(table, server.source_types, server.type_system))
    if representable.columns is table.columns:
        return ()
    return tuple(
        f"column {column.name} of {table.name} becomes text: {_why_text(column.type)}"
        for column in table.columns
        if column.type != server.type_system.text and representable.column(column.id).type == server.type_system.text
        if not column.type.is_builtin or not server.type_system.has(column.type)
    )


def _held_as_text(table: Table, source: TypeSystem, there: TypeSystem) -> Iterator[str]:
    """Yield the warnings for a target of another kind of database than the source."""
    text = there.representation(TypeFamily(Family.TEXT)).type
    for column in table.columns:
        family = source.family(column.type, table.types)
        held = there.representation(family)
        if held.type == text and family.kind is not Family.TEXT:
            why = f"this kind of target has no type for {column.type.text}; {held.loss}"
            yield f"column {column.name} of {table.name} becomes {text.text}: {why}"


def _why_text(of: DataType) -> str:
    if of.is_builtin:
        return f"the target's server was built without its type {of.text}"
    if of.extension:
        return f"its type {of.text} needs the extension {of.extension}, which the target lacks"
    return f"its type {of.text} can't be created at the target"


def _generated(column: Column, known: Evaluable, facts: TargetFacts, note: TakeNote) -> Column:
    if not facts.server.computes:
        note(Note(f"column {column.name}: the target keeps the values of {column.default}, which it can't compute"))
        return replace(column, generated="", default=None)
    if why := known.why_not(column.default or "", Use.GENERATED):
        kept = f"column {column.name}: the target keeps the values, not the expression {column.default}: it {why}"
        note(Note(kept))
        return replace(column, generated="", default=None)
    if unlike := ", ".join(sorted(known.may_vary(column.default or "") & facts.server.unlike)):
        why = f"column {column.name}: {column.default} may have another value at the target, whose {unlike} is another"
        if facts.server.publishes_generated and column.generated == "stored":
            note(Note(f"{why}: it keeps the source's values, not the expression"))
            return replace(column, generated="", default=None)
        note(Note(f"{why}; the log does not have the values: `ddlrepl compare` looks at them"))
    if column.generated == "virtual" and facts.server.version < 18:
        return replace(column, generated="stored")
    return column


def _named_keys(table: Table, facts: TargetFacts) -> dict[str, Key | None]:
    """Return the table's keys under the names that the target's keys have; empty when those are not known."""
    there = facts.existing.keys if facts.existing else ()
    return {"key": _named(table.key, there), "second_key": _named(table.second_key, there)}


def _named(key: Key | None, there: Sequence[Key]) -> Key | None:
    if key is None:
        return None
    return replaced(key, name=next((found.name for found in there if found.is_primary == key.is_primary), ""))


def _partition(partition: Partition | None, facts: TargetFacts) -> Partition | None:
    if partition is None or not facts.has_parent:
        return None
    present_parent = facts.existing.partition.of_name if facts.existing and facts.existing.partition else None
    return replace(partition, of_name=facts.parent or present_parent or partition.of_name)


def _types(
    types: tuple[TypeDefinition, ...], known: Evaluable, facts: TargetFacts, note: TakeNote
) -> tuple[TypeDefinition, ...]:
    held = []
    for of in types:
        if of.collation is not None and not facts.server.has_collation(of.collation):
            note(Note(f"type {of.name}: the target lacks the collation {of.collation}", is_left=True))
            of = replace(of, collation=None)
        held.append(_domain(of, known, note) if of.kind is TypeKind.DOMAIN else of)
    return tuple(held)


def _domain(of: TypeDefinition, known: Evaluable, note: TakeNote) -> TypeDefinition:
    checks = tuple(c for c in of.constraints if not c[1].endswith(NOT_VALID))  # rows that stand may break the others
    left = {name: why for name, text in checks if (why := known.why_not(text, Use.CHECK))}
    for name, why in left.items():
        note(Note(f"domain {of.name}: the check {name} {why}; it is not replicated", is_left=True))
    if of.default and (why := known.why_not(of.default, Use.DEFAULT)):
        note(Note(f"domain {of.name}: the default {of.default} {why}; it stays at the source", is_left=True))
        of = replace(of, default=None)
    return replace(of, constraints=tuple(c for c in checks if c[0] not in left))


LOGGED = (
    "where the source can, `ddlrepl activate` lets the log have stored ones; or leave the column out at the target by"
    " `column_properties` with `absent: true`"
)
"""What to do about generated columns whose values a target can't get."""


def hides_values(table: Table, representable: Table, facts: TargetFacts) -> tuple[Column, ...]:
    """Return the generated columns whose values the target can neither compute nor get from the log."""
    logged = ("", "stored") if facts.server.publishes_generated else ("",)
    return tuple(c for c in table.columns if c.generated not in logged and not representable.column(c.id).generated)
