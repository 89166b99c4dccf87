"""This module writes the conditions of rules for tables, schemas and whole databases, as DBMS_STREAMS_ADM does."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.members import DDL, ROW
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.condition.printing import quoted
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.variables import Variable
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.streams.parsing.tokens import replaced, tokens

_OWNER, _NAME, _SOURCE = "@owner@", "@name@", "@source@"
# What follows `:` is put in front of every function.
_OBJECT = {
    ("table", ROW): "((:.get_object_owner() = '@owner@' and :.get_object_name() = '@name@'))",
    ("table", DDL): "((:.get_object_owner() = '@owner@' and :.get_object_name() = '@name@') or "
    "(:.get_base_table_owner() = '@owner@' and :.get_base_table_name() = '@name@'))",
    ("schema", ROW): "(:.get_object_owner() = '@owner@')",
    ("schema", DDL): "(:.get_object_owner() = '@owner@' or :.get_base_table_owner() = '@owner@')",
}
_EVERYTHING = "( :.get_source_database_name()>=' ' OR :.get_source_database_name()<=' ')"
_VARIABLES = {ROW: "dml", DDL: "ddl"}


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope is which LCRs a system-created rule is about.

    owner, name: of the object; a schema rule has no name, a global one neither. source: empty: any database.
    and_condition: a further condition over :lcr.
    """

    owner: str = ""
    name: str = ""
    is_tagged_taken: bool = False
    source: str = ""
    and_condition: str = ""
    case: NameCase = NameCase.UPPER


def condition(scope: Scope, lcr: str) -> tuple[str, tree.Truth]:
    """Return the condition of a rule, as a text and parsed. lcr: `row` or `ddl`.

    Raises ConditionProblem as the parser does, with the place in and_condition.
    """
    text, parsed = _template(replace(scope, owner=bool(scope.owner) * _OWNER, name=bool(scope.name) * _NAME,
                                     source=bool(scope.source) * _SOURCE), lcr)  # fmt: skip
    values = {_OWNER: scope.owner, _NAME: scope.name, _SOURCE: scope.source}
    for marker, value in values.items():
        text = text.replace(quoted(marker), quoted(value))
    found = _filled(parsed, values)
    assert isinstance(found, tree.Truth)
    return text, found


@lru_cache(512)
def _template(scope: Scope, lcr: str) -> tuple[str, tree.Truth]:
    level = "table" if scope.name else "schema"
    parts = [_OBJECT[level, lcr]] if scope.owner else []
    if not scope.is_tagged_taken:
        parts.append(":.is_null_tag() = 'Y'")
    if scope.source:
        parts.append(f":.get_source_database_name() = '{_SOURCE}'")
    variable = _VARIABLES[lcr]
    text = f"({' and '.join(parts or [_EVERYTHING])} )".replace(":.", f":{variable}.")
    if scope.and_condition:
        extra = with_variable(scope.and_condition, lcr, scope.case)
        text = f"(({text}) and ({extra}))"
    return text, parse(text, case=scope.case)


def with_variable(and_condition: str, lcr: str, case: NameCase = NameCase.UPPER) -> str:
    """Return an and_condition with `:dml` or `:ddl` in the place of `:lcr`.

    Raises ConditionProblem, RUL-115 for another variable.
    """
    found = tokens(and_condition)
    places = []
    for sign, word in pairwise(found):
        if sign.is_word(":"):
            if word.text.upper() != "LCR":
                why = f":{word.text.lower()}: the variable of an and_condition is :lcr"
                raise ConditionProblem(sign.at, why, "RUL-115")
            places.append(word)
    parse(and_condition, {"lcr": Variable(lcr)}, case)
    return replaced(and_condition, [(word, _VARIABLES[lcr]) for word in places])


def _filled(node: tree.Node, values: dict[str, str]) -> tree.Node:
    """Return a node with the markers among its constants replaced by these values."""
    if isinstance(node, tree.Constant):
        return tree.Constant(values[node.value], node.kind) if node.value in values else node
    changed: dict[str, Any] = {}
    for field in fields(node):
        before = getattr(node, field.name)
        if isinstance(before, tree.Node):
            after: Any = _filled(before, values)
        elif isinstance(before, tuple):
            after = tuple(_filled(one, values) if isinstance(one, tree.Node) else one for one in before)
        else:
            continue
        if after != before:
            changed[field.name] = after
    return replace(node, **changed) if changed else node
