"""This module says what a client's row rules make of the names of a table and its columns: its DDL has to follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.evaluation.keys import KeyIndex
from airflow_ddlrepl.streams.messages import Command
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.rule import Rule
from airflow_ddlrepl.streams.rules.split import SplitRule, split_rule
from airflow_ddlrepl.streams.transformations.declared import (
    AddColumn,
    Declared,
    DeleteColumn,
    KeepColumns,
    RenameColumn,
    RenameSchema,
    RenameTable,
    ValueType,
    in_order,
)

_TAGS = ((None, "Y"), (b"\0", "N"))


@dataclass(frozen=True, slots=True)
class LeftNames:
    """These are the names that a table has once its rows are transformed.

    changes: alternatives of declared transformations, each with the name of its rule, of which rows meet one.
    """

    old: TableName
    new: TableName
    changes: tuple[tuple[str, tuple[Declared, ...]], ...] = field(default=())

    @property
    def is_same(self) -> bool:
        """Return whether no name of the table or of a column of its changes."""
        return not self.changes and self.old == self.new

    @property
    def mentioned_columns(self) -> frozenset[str]:
        """Return the columns that transformations name."""
        return frozenset(name for _, declared in self.changes for one in declared for name in _columns(one))

    def column(self, name: str) -> str | None:
        """Return what a column is called; None: no rule leaves it. Raises RuleError RUL-160 where rules differ."""
        found = {_column(declared, self.old, name): rule for rule, declared in self.changes}
        left = [one for one in found if one is not None]
        if len(left) > 1:
            raise _differ(f"column {name} of {self.old}", left, found.values())
        return left[0] if left else None if found else name

    def changed(self, names: Iterable[str]) -> dict[str, str | None]:
        """Return those of the columns that are called otherwise, or deleted."""
        found = {name: self.column(name) for name in names}
        return {name: to for name, to in found.items() if to != name}


class RowNames:
    """The row names of a client are what the declared transformations of its row rules make of names.

    database: the name of the source's database.
    """

    def __init__(self, client: Client, database: str) -> None:
        self._database = database
        rules = list(client.positive.rules.values()) if client.positive is not None else []
        self._rules = sorted(rules, key=lambda rule: not rule.action.changes_messages)
        self._declared = {rule.name: rule.action.declared for rule in rules}
        self._split: dict[str, SplitRule] = {}
        self._known: dict[TableName, LeftNames] = {}
        self.has_changes = any(not isinstance(one, AddColumn) for rule in rules for one in rule.action.declared)

    def of(self, table: TableName) -> LeftNames:
        """Return what a table and its columns are called. Raises RuleError RUL-160 where its rules say different."""
        found = self._known.get(table)
        if found is None:
            found = self._known[table] = self._of(table) if self.has_changes else LeftNames(table, table)
        return found

    def schema(self, name: str) -> str:
        """Return what a schema is called. Raises RuleError RUL-160 where rules rename it differently."""
        found = {
            one.to: rule.name for rule in self._rules for one in rule.action.declared
            if isinstance(one, RenameSchema) and one.schema == name
        }  # fmt: skip
        if len(found) > 1:
            raise _differ(f"schema {name}", [*found], found.values())
        return next(iter(found), name)

    def table(self, table: Table) -> Table:
        """Return a shape with the names that its rows have, without columns that they do not have."""
        names = self.of(table.name)
        if names.is_same and table.partition is None:
            return table
        columns = tuple(
            one if to == one.name else replace(one, name=to)
            for one in table.columns
            if (to := names.column(one.name)) is not None
        )
        partition = table.partition
        if partition is not None:
            partition = type(partition)(partition.of, self.of(partition.of_name).new, partition.bound)
        kept = table.with_keys_of({column.id for column in columns})
        return kept.with_(name=names.new, columns=columns, partition=partition)

    def _of(self, table: TableName) -> LeftNames:
        rules = list(dict.fromkeys(name for each in self._alternatives(table) for name in each))
        changes = tuple((name, self._declared[name]) for name in rules)
        news = {_table(of, table): name for name, of in changes}
        if len(news) > 1:
            raise _differ(f"table {table}", [*map(str, news)], news.values())
        is_changed = any(_is_about(one, table, of) for _, of in changes for one in of)
        return LeftNames(table, next(iter(news), table), changes if is_changed else ())

    def _alternatives(self, table: TableName) -> Iterator[list[str]]:
        """Yield the rules that rows of a table can meet, for each kind of change."""
        for command in Command:
            for tag, is_null in _TAGS:
                attributes = {
                    "get_object_owner": table.schema, "get_object_name": table.name, "get_tag": tag,
                    "get_source_database_name": self._database, "is_null_tag": is_null,
                    "get_command_type": command.value,
                }  # fmt: skip
                yield list(self._met(attributes))

    @cached_property
    def _index(self) -> KeyIndex:
        return KeyIndex(rule.condition for rule in self._rules)

    def _met(self, attributes: Mapping[str, Any]) -> Iterator[str]:
        for number in self._index.of(attributes["get_object_owner"], attributes["get_object_name"]):
            rule = self._rules[number]
            split = self._split_of(rule)
            if split.may_be_true(attributes):
                yield rule.name
                if split.rest is None:
                    return

    def _split_of(self, rule: Rule) -> SplitRule:
        found = self._split.get(rule.name)
        if found is None:
            found = self._split[rule.name] = split_rule(rule)
        return found


def _is_about(one: Declared, table: TableName, declared: tuple[Declared, ...]) -> bool:
    """Return whether a transformation, after those before it, changes a name of the table."""
    if isinstance(one, AddColumn):
        return False
    if isinstance(one, RenameSchema):
        return any(name.schema == one.schema for name in _names_on_the_way(declared, table))
    return any(str(name) == one.table for name in _names_on_the_way(declared, table))  # type: ignore[attr-defined]


def _names_on_the_way(declared: tuple[Declared, ...], table: TableName) -> list[TableName]:
    ordered = in_order(declared)
    return [_table(tuple(ordered[:count]), table) for count in range(len(ordered) + 1)]


def _table(declared: tuple[Declared, ...], table: TableName) -> TableName:
    for one in in_order(declared):
        table = _next_table(one, table)
    return table


def _next_table(one: Declared, table: TableName) -> TableName:
    match one:
        case RenameTable(table=of, to=to) if of == f"{table.schema}.{table.name}":
            return TableName(*to.split(".", 1))
        case RenameSchema(schema=schema, to=to) if schema == table.schema:
            return TableName(to, table.name)
    return table


def _column(declared: tuple[Declared, ...], table: TableName, column: str) -> str | None:
    """Return what a column is called; None: it is deleted. What is done to old values alone does not count."""
    for one in in_order(declared):
        called = f"{table.schema}.{table.name}"
        match one:
            case KeepColumns(table=of, columns=kept, value_type=which) if of == called and which is not ValueType.OLD:
                if column not in kept:
                    return None
            case DeleteColumn(table=of, column=gone, value_type=which) if of == called and which is not ValueType.OLD:
                if column == gone:
                    return None
            case RenameColumn(table=of, column=old, to=to, value_type=which) if of == called and old == column:
                column = column if which is ValueType.OLD else to
        table = _next_table(one, table)
    return column


def _columns(one: Declared) -> tuple[str, ...]:
    match one:
        case KeepColumns(columns=columns):
            return columns
        case DeleteColumn(column=column):
            return (column,)
        case RenameColumn(column=column, to=to):
            return column, to
    return ()


def _differ(what: str, names: Iterable[str], rules: Iterable[str]) -> RuleError:
    return RuleError(
        f"rules {', '.join(sorted(rules))} call {what} differently: {', '.join(names)}; its DDL can't follow",
        code="RUL-160",
        hint="declare the same names for all rules of the table, or keep its DDL out by a negative rule for DDL",
    )
