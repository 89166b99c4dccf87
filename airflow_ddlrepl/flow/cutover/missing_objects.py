"""What is made on the source's tables has to be on a target's, too: keys, checks, indexes, triggers, column properties.

Nothing but tables, rows and primary keys is replicated; applications need the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.engines.target_state import TargetState
from airflow_ddlrepl.flow.cutover.condition import Code, Condition
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, ObjectKind, Table, TableObject
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.sql.lexer import Kind, placed_tokens

CONSTRAINTS = (ObjectKind.FOREIGN_KEY, ObjectKind.CHECK, ObjectKind.EXCLUSION, ObjectKind.UNIQUE)
Identity = tuple[ObjectKind, TableName, object, str, object]


def missing_objects(run: RunContext, target: str, now: TargetState) -> Iterator[Condition]:
    """Yield the conditions about what is made on the tables that follow the source at a target."""
    here = {i: one for i, one in now.table_states.items() if one.state in (TableStatus.LIVE, TableStatus.SUSPENDED)}
    tables = {table.id: table for table in run.source.catalog.inspect(sorted(here))}
    facts = run.target(target).facts()
    pairs = [_Pair(table, here[i]) for i, table in tables.items()]
    names = {pair.table.name: pair for pair in pairs}
    wanted = [(one, _at_target(one, names)) for one in run.source.catalog.objects(sorted(tables))]
    found = _Found.of(facts.objects([pair.state.name for pair in pairs]))
    hint = "run the statements at the target, with its names; or those of a dump of the source"

    def lacks(*kinds: ObjectKind) -> tuple[str, ...]:
        lost = ((one, there) for one, there in wanted if one.kind in kinds and not found.has(there))
        return tuple(f"{there.table}: {one.kind} {one.name}: {one.statement}" for one, there in lost)

    yield Condition(Code.CONSTRAINTS, target, "constraints that it lacks", lacks(*CONSTRAINTS), hint)
    yield Condition(Code.INDEXES, target, "indexes that it lacks", lacks(ObjectKind.INDEX), hint)
    yield Condition(Code.TRIGGERS, target, "triggers that it lacks", lacks(ObjectKind.TRIGGER), hint)
    known = {_identity(there) for one, there in wanted if not one.is_in_force}
    idle = tuple(
        f"{one.table}: {one.kind} {one.name}"
        for one in found.objects
        if not one.is_in_force and _identity(one) not in known
    )
    hint = "ALTER TABLE … VALIDATE CONSTRAINT, ENABLE TRIGGER; an index that is not valid is dropped and made again"
    what = "constraints and triggers that are not in force"
    yield Condition(Code.NOT_IN_FORCE, target, what, idle, hint)
    facts.look([pair.state.name for pair in pairs])
    columns = tuple(text for pair in pairs for text in _columns(pair, facts))
    hint = "run the statements at the target; docs/cutover.md says which properties are not replicated"
    yield Condition(Code.COLUMNS, target, "properties of columns that it lacks", columns, hint)


@dataclass(frozen=True)
class _Pair:
    """A pair is a table of the source, and its state at a target."""

    table: Table
    state: TableState

    @property
    def columns(self) -> Mapping[str, str]:
        """Return the target's name of each column that it has, by the source's."""
        there = {column.id: column.name for column in self.state.shape.columns}
        return {column.name: there[column.id] for column in self.table.columns if column.id in there}


@dataclass(frozen=True)
class _Found:
    """These are the objects that a target has. indexes: of unique keys, which serve as indexes, too."""

    objects: Sequence[TableObject]
    identities: frozenset[Identity]
    indexes: frozenset[Identity]

    @classmethod
    def of(cls, objects: Sequence[TableObject]) -> _Found:
        usable = [one for one in objects if one.is_in_force or one.kind not in (ObjectKind.INDEX, ObjectKind.UNIQUE)]
        unique = (replace(one, kind=ObjectKind.INDEX) for one in usable if one.kind is ObjectKind.UNIQUE)
        return cls(objects, frozenset(map(_identity, usable)), frozenset(map(_identity, unique)))

    def has(self, wanted: TableObject) -> bool:
        """Has the target this object? A key or a trigger that is not in force is there, but for a broken index."""
        return _identity(wanted) in self.identities or _identity(wanted) in self.indexes


def _identity(one: TableObject) -> Identity:
    """Return what an object is, whatever it is called. A trigger is its name."""
    columns: object = one.columns
    referenced: object = one.referenced
    if one.kind is ObjectKind.UNIQUE:
        columns = frozenset(one.columns)
    if one.kind is ObjectKind.FOREIGN_KEY and one.referenced:
        columns = frozenset(zip(one.columns, one.referenced[1], strict=True))
        referenced = one.referenced[0]
    return (one.kind, one.table, columns, one.name if one.kind is ObjectKind.TRIGGER else one.rule, referenced)


def _at_target(one: TableObject, pairs: Mapping[TableName, _Pair]) -> TableObject:
    """Return a source's object with the target's names."""
    pair, referenced = pairs[one.table], one.referenced
    if referenced is not None and (other := pairs.get(referenced[0])) is not None:
        referenced = (other.state.name, tuple(other.columns.get(name, name) for name in referenced[1]))
    columns = tuple(pair.columns.get(name, name) for name in one.columns)
    rule = one.rule if one.kind is ObjectKind.FOREIGN_KEY else _renamed(one.rule, pair.columns)
    return replace(one, table=pair.state.name, columns=columns, rule=rule, referenced=referenced)


def _renamed(text: str, columns: Mapping[str, str]) -> str:
    """Return an expression with the target's names of the columns."""
    if all(name == other for name, other in columns.items()):
        return text
    found, last = "", 0
    for token, begin, end in placed_tokens(text):
        is_name = token.kind in (Kind.WORD, Kind.NAME)
        name = columns.get(token.text, token.text) if is_name else token.text
        found += text[last:begin] + (name if is_name and name != token.text else text[begin:end])
        last = end
    return found + text[last:]


def _columns(pair: _Pair, facts: ServerFacts) -> Iterator[str]:
    table = facts.table(pair.state.name)
    there = {column.name: column for column in table.columns} if table else {}
    for column in pair.table.columns:
        name = pair.columns.get(column.name)
        if name is None or name not in there:
            continue
        for what in _lacks(column, there[name]):
            yield f"{pair.state.name}: column {name}: {what}"


def _lacks(wanted: Column, found: Column) -> Iterator[str]:
    """Yield the properties of a source's column that the target's lacks."""
    if wanted.generated:
        if not found.generated:
            yield f"it is no generated column ({wanted.default})"
        return
    if wanted.identity and not found.identity:
        yield f"ALTER COLUMN … ADD GENERATED {wanted.identity.upper()} AS IDENTITY"
    if wanted.default is not None and found.default is None and not found.identity:
        yield f"ALTER COLUMN … SET DEFAULT {wanted.default}"
    if not wanted.nullable and found.nullable:
        yield "ALTER COLUMN … SET NOT NULL"
