"""This module writes the three conditions of subset rules: rows that come in, that stay in, and that go out."""

from __future__ import annotations

from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.kinds import ACCESS_OF
from airflow_ddlrepl.streams.condition.printing import as_name, quoted
from airflow_ddlrepl.streams.condition.tree import Image
from airflow_ddlrepl.streams.messages import Command
from airflow_ddlrepl.streams.parsing.parser import Where, parse
from airflow_ddlrepl.streams.parsing.tokens import replaced
from airflow_ddlrepl.streams.procedures.system_conditions import Scope

_PLAIN = (tree.Constant, tree.Column)


def conditions(scope: Scope, where: Where) -> dict[Command, tuple[str, tree.Truth]]:
    """Return the conditions of the insert, the update and the delete rule, as texts and parsed."""
    start = [f":dml.get_object_owner()={quoted(scope.owner)}", f":dml.get_object_name()={quoted(scope.name)}"]
    if not scope.is_tagged_taken:
        start.append(":dml.is_null_tag()='Y'")
    if scope.source:
        start.append(f":dml.get_source_database_name()={quoted(scope.source)}")
    found = {
        Command.INSERT: [*start, *_comes_or_goes(Command.INSERT, Image.NEW, Image.OLD, where)],
        Command.UPDATE: [
            *start,
            ":dml.get_command_type()='UPDATE'",
            *_there(Image.NEW, where),
            *_there(Image.OLD, where),
            f"({_of(Image.OLD, where)})",
            f"({_of(Image.NEW, where)})",
        ],
        Command.DELETE: [*start, *_comes_or_goes(Command.DELETE, Image.OLD, Image.NEW, where)],
    }
    texts = {command: " AND ".join(parts) for command, parts in found.items()}
    return {command: (text, parse(text, case=scope.case)) for command, text in texts.items()}


def _comes_or_goes(command: Command, inside: Image, outside: Image, where: Where) -> list[str]:
    """Return the parts of a rule for rows that are inside in one image, and outside in the other where there is one."""
    out = " AND ".join([*_there(outside, where), f"({_is_outside(outside, where)})"])
    return [
        f":dml.get_command_type() IN ('UPDATE','{command}')",
        *_there(inside, where),
        f"({_of(inside, where)})",
        f"(:dml.get_command_type()='{command}' OR ({out}))",
    ]


def _is_outside(image: Image, where: Where) -> str:
    """Return the condition that a row does not meet the subset's; that one judges NULLs, too."""
    unmet = f"NOT EXISTS (SELECT 1 FROM SYS.DUAL WHERE ({_of(image, where)}))"
    if not _is_never_unknown(where.condition):
        return unmet
    values = [_value(image, column, where) for column in where.columns]
    known = " AND ".join(f"({value} IS NOT NULL)" for value in values)
    unknown = " OR ".join(f"({value} IS NULL)" for value in values)
    unknown = unknown if len(values) == 1 else f"({unknown})"
    return f"({known} AND NOT ({_of(image, where)})) OR ({unknown} AND {unmet})"


def _is_never_unknown(condition: tree.Truth) -> bool:
    """Return whether a condition is true or false for all rows without NULLs."""
    return all(
        isinstance(one, _PLAIN) and not (isinstance(one, tree.Constant) and one.value is None)
        for one in condition.walk()
        if isinstance(one, tree.Value)
    )


def _there(image: Image, where: Where) -> list[str]:
    return [f"({_anydata(image, column)} IS NOT NULL)" for column in where.columns]


def _of(image: Image, where: Where) -> str:
    """Return the subset's condition with the values of one image in the places of its columns."""
    return replaced(where.text, [(place, _value(image, place.column, where)) for place in where.places])


def _value(image: Image, column: str, where: Where) -> str:
    return f"{_anydata(image, column)}.{ACCESS_OF[where.columns[column]]}()"


def _anydata(image: Image, column: str) -> str:
    return f":dml.get_value('{image}',{quoted(as_name(column))})"
