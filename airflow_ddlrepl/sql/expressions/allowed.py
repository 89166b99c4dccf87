"""This module decides by a list which expressions of a source a target may evaluate with its role's rights.

What is not on the list stays at the source. `functions.csv` has the functions of pg_catalog that read no setting, run
no text, signal no process and touch no file, large object or notification: all are immutable, but for those that its
column `volatility` says otherwise of. A name stands there only if all functions of that name may be called.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import NamedTuple

from airflow_ddlrepl.sql.expressions.kinds import parse_check, parse_expression, parse_key
from airflow_ddlrepl.sql.expressions.reader import Found
from airflow_ddlrepl.sql.expressions.words import NotOneText, listed

NEWEST = 18
"""The newest version that `functions.csv` knows."""


class Function(NamedTuple):
    """A function of pg_catalog that a target may call.

    since: the first version that has it. varies: `collation` or `version` where its results may differ between two
    servers that differ in these; else empty.
    """

    volatility: str
    since: int
    varies: str


@dataclass(frozen=True, slots=True)
class _Rule:
    parse: Callable[[str], Found]
    volatilities: tuple[str, ...]
    takes_values: bool = False


class Use(Enum):
    """A use says where an expression stands, and so what it may call."""

    DEFAULT = _Rule(parse_expression, ("immutable", "mixed", "stable", "volatile"), takes_values=True)
    GENERATED = _Rule(parse_expression, ("immutable", "mixed"))
    CHECK = _Rule(parse_check, ("immutable", "mixed", "stable"), takes_values=True)
    PARTITION_KEY = _Rule(parse_key, ("immutable", "mixed"))


OPERATORS = listed(
    "!! !~ !~* !~~ !~~* # ## #- #> #>> % & && &< &<| &> * *< *<= *<> *= *> *>= + - -> ->> -|- / < <-> << <<= <<| "
    "<= <> <@ <^ = > >= >> >>= >^ ? ?# ?& ?- ?-| ?| ?|| @ @-@ @> @? @@ @@@ ^ ^@ | |&> |/ |>> || ||/ ~ ~* ~<=~ ~<~ "
    "~= ~>=~ ~>~ ~~ ~~*"
)
"""The operators of pg_catalog, the same from 15 to 18; what each calls is immutable or stable."""

_LATER = {("random", 2): 17, ("json_strip_nulls", 2): 18, ("jsonb_strip_nulls", 2): 18, ("timezone", 1): 17}
"""By name and number of arguments: the version that added such a function beside others of its name."""
_BY_LOOKUP = listed(
    "cstring regclass regcollation regnamespace regoper regoperator regproc regprocedure regrole regtype internal "
    "record trigger event_trigger refcursor aclitem pg_node_tree anyelement anyarray"
)
"""Types whose values are looked up in the target's catalog, or that are none of a value."""
_BY_CONSTANT = frozenset(("regconfig", "regdictionary"))
_SEQUENCES = frozenset(("nextval", "currval", "lastval"))


@cache
def functions() -> dict[str, Function]:
    """Return the functions that a target may call, by their names in pg_catalog."""
    with (Path(__file__).parent / "functions.csv").open(newline="") as file:
        return {r["name"]: Function(r["volatility"], int(r["since"]), r["varies"]) for r in csv.DictReader(file)}


def why_not(
    text: str,
    use: Use,
    version: int,
    types: Collection[tuple[str, str]] = (),
    fields: Collection[str] = (),
) -> str:
    """Return why a target must not evaluate an expression; empty: it may.

    version: the target's major version. types: user-defined types (schema, name) that the target has, and no more.
    fields: names of the attributes of those.
    """
    try:
        found = use.value.parse(text)
    except NotOneText as error:
        return f"is not one expression: it {error}"
    return next(_objections(found, use.value, version, types, fields), "")


def why_no_key(text: str, version: int, strange: Collection[tuple[str, str]]) -> str:
    """Return why a target must not have a partition key; empty: it may, or its server says what is missing.

    strange: functions (schema, name) that are a stranger's at the target. Those of the location's role or of a
    superuser have been made to be called.
    """
    try:
        found = parse_key(text)
    except NotOneText as error:
        return f"is not one partition key: it {error}"
    for schema, name in found.functions:
        if (schema, name) in strange:
            return f"calls {schema}.{name}, which belongs to another role at the target"
    found = replace(found, functions=[one for one in found.functions if not one[0]])
    rule = Use.PARTITION_KEY.value
    types = {one for one in (*found.types, *found.literal_types) if one[0]}
    return next(_objections(found, rule, version, types, found.fields), "")


def user_functions(key: str | None) -> frozenset[tuple[str, str]]:
    """Return the functions (schema, name) that a partition key calls, but for those of PostgreSQL."""
    try:
        found = parse_key(key) if key else None
    except NotOneText:
        return frozenset()
    return frozenset(one for one in found.functions if one[0]) if found else frozenset()


def may_vary(text: str, texts: Collection[str]) -> frozenset[str]:
    """Return what an expression's value may depend on besides its columns: `collation`, `version`, both or nothing.

    texts: names of columns that are not certain to be without a collation. A text that is not one expression depends
    on both.
    """
    try:
        found = parse_expression(text)
    except NotOneText:
        return frozenset(("collation", "version"))
    known = functions()
    vary = {known[name].varies for schema, name in found.functions if not schema and name in known}
    operators = {name for _, name in found.operators}
    has_text = found.columns & set(texts) or _TEXTS & {name for _, name in (*found.types, *found.literal_types)}
    if operators & _MATCHES or (has_text and (found.sorts or operators & _ORDERS)):
        vary.add("collation")
    return frozenset(vary - {""})


_MATCHES = frozenset(("~", "!~", "~*", "!~*", "~~*", "!~~*"))
_ORDERS = frozenset(("<", "<=", ">", ">="))
_TEXTS = frozenset(("text", "character", "char", "varchar", "bpchar", "name"))


def _objections(
    found: Found, rule: _Rule, version: int, types: Collection[tuple[str, str]], fields: Collection[str]
) -> Iterator[str]:
    known = functions()
    for schema, name in found.functions:
        one = None if schema else known.get(name)
        if one is None or one.volatility not in rule.volatilities:
            yield f"calls {f'{schema}.{name}' if schema else name}, which no target runs for its source"
        elif one.since > version:
            yield f"calls {name}, which PostgreSQL {version} lacks"
    for name, count in sorted(found.calls & _LATER.keys()):
        if _LATER[name, count] > version:
            yield f"calls {name} with {count} arguments, which PostgreSQL {version} lacks"
    for schema, name in found.operators:
        if schema or name not in OPERATORS:
            yield f"uses the operator {schema}{'.' if schema else ''}{name}, which no target runs for its source"
    yield from _about_types(found, types, bool(_SEQUENCES & {name for _, name in found.functions}))
    if found.values and not rule.takes_values:
        yield f"depends on {', '.join(sorted(found.values))}"
    for name in sorted(found.fields - set(fields)):
        yield f"takes the field {name} out of a value, which none of the table's types has"
    if found.since > version:
        yield f"is written in a way that PostgreSQL {version} can't read"


def _about_types(found: Found, types: Collection[tuple[str, str]], names_sequences: bool) -> Iterator[str]:
    by_lookup = _BY_LOOKUP - {"regclass"} if names_sequences else _BY_LOOKUP
    for is_literal, of in ((False, found.types), (True, found.literal_types)):
        for schema, name in of:
            if schema and (schema, name) not in types:
                yield f"uses the type {schema}.{name}, which the target lacks"
            if not schema and (name in (by_lookup if is_literal else _BY_LOOKUP | _BY_CONSTANT)):
                yield f"makes a {name}, which depends on what the target has"
    for schema, name in found.collations:
        if schema:
            yield f"uses the collation {schema}.{name}"
