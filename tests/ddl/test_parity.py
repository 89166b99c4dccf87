"""Our reading of conditions and DDL statements against sqlglot's: a second opinion on every text of the tests.

The product reads with its own parsers: sqlglot takes more than a condition may hold, and reads eight in ten statements.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from airflow_ddlrepl.ddl.sql.query_string import split
from airflow_ddlrepl.ddl.sql.replayable import read
from airflow_ddlrepl.ddl.sql.statement import has_using
from airflow_ddlrepl.notation.condition import expression as parts
from airflow_ddlrepl.notation.condition.parser import condition
from tests.support.collect_sql import TEXTS

COMPARISONS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
COMPARISONS |= {exp.NullSafeNEQ: "IS DISTINCT FROM", exp.NullSafeEQ: "IS NOT DISTINCT FROM"}
ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}


def texts(of: str) -> list[str]:
    found: list[str] = json.loads(TEXTS.read_text(encoding="utf-8"))[of]
    return found


@cache
def theirs(text: str) -> tuple[exp.Expression, ...]:
    """What sqlglot reads; nothing where it can't, or takes a statement for an unknown command."""
    try:
        found = [one for one in sqlglot.parse(text, dialect="postgres") if one is not None]
    except (SqlglotError, RecursionError):
        return ()
    return () if any(isinstance(one, exp.Command) for one in found) else tuple(found)


def ours(text: str) -> parts.Part | None:
    try:
        return condition(text)
    except ValueError:
        return None


def as_part(of: Any) -> Any:
    """sqlglot's tree as ours, of what a condition may hold."""
    negated = bool(of.args.get("negate"))
    if isinstance(of, exp.Paren):
        return as_part(of.this)
    if isinstance(of, exp.Column):
        return parts.Named(of.name if of.this.quoted else of.name.lower())
    if isinstance(of, exp.Boolean):
        return parts.Truth(of.this)
    if isinstance(of, exp.Literal):
        return parts.Text(of.this) if of.is_string else parts.Number(of.this.lower())
    if isinstance(of, exp.Neg):
        return parts.Minus(as_part(of.this))
    if isinstance(of, exp.Cast):
        return parts.Cast(as_part(of.this), "")
    if isinstance(of, exp.Not):
        return parts.Not(as_part(of.this))
    if isinstance(of, exp.And | exp.Or):
        word = type(of).__name__.upper()
        return parts.Joined(word, tuple(as_part(one) for one in of.flatten()))
    if isinstance(of, exp.Is):
        being = as_part(of.this)
        return parts.IsNull(being) if isinstance(of.expression, exp.Null) else is_not_distinct(being, of.expression)
    if isinstance(of, exp.In):
        return parts.Among(as_part(of.this), tuple(map(as_part, of.expressions)), negated)
    if isinstance(of, exp.Between):
        return parts.Between(as_part(of.this), as_part(of.args["low"]), as_part(of.args["high"]), negated)
    if isinstance(of, exp.Like):
        return parts.Like(as_part(of.this), as_part(of.expression), negated)
    sides = (as_part(of.this), as_part(of.expression))
    if type(of) in ARITHMETIC:
        return parts.Arithmetic(sides[0], ARITHMETIC[type(of)], sides[1])
    return parts.Compare(sides[0], COMPARISONS[type(of)], sides[1])


def is_not_distinct(being: Any, from_: Any) -> Any:
    return parts.Compare(being, "IS NOT DISTINCT FROM", as_part(from_))


def plain(of: Any) -> Any:
    """A tree in which `a IS NOT NULL` and `NOT a IS NULL` are alike, and the names of types are left out."""
    if isinstance(of, parts.Among | parts.Between | parts.Like | parts.IsNull) and of.negated:
        return ("not", plain(type(of)(*(getattr(of, f) for f in of.__dataclass_fields__ if f != "negated"))))
    if isinstance(of, parts.Not):
        return ("not", plain(of.of))
    if isinstance(of, parts.Compare) and of.sign.startswith("IS"):
        alike = (plain(of.left), plain(of.right))
        return ("distinct", *alike) if of.sign == "IS DISTINCT FROM" else ("not", ("distinct", *alike))
    if isinstance(of, parts.Named | parts.Text | parts.Number | parts.Truth):
        return of
    word = getattr(of, "sign", getattr(of, "word", type(of).__name__))
    return (word, *map(plain, of.parts))


def test_conditions_are_read_as_by_sqlglot() -> None:
    unlike = [
        text
        for text in texts("conditions")
        if (mine := ours(text)) is not None and [plain(mine)] != [plain(as_part(one)) for one in theirs(text)]
    ]
    assert unlike == []


def test_what_sqlglot_reads_and_a_condition_must_not_hold() -> None:
    """Most of what we refuse: it would have to be refused in its tree, node by node."""
    refused = [text for text in texts("conditions") if ours(text) is None]
    assert 0 < sum(not theirs(text) for text in refused) < len(refused) / 2


def test_statements_end_where_sqlglot_ends_them() -> None:
    unlike = [
        text for text in texts("statements") if theirs(text) and split(text) and len(theirs(text)) != len(split(text))
    ]
    assert unlike == []


def test_statements_name_the_table_that_sqlglot_finds() -> None:
    unlike = []
    for text in texts("statements"):
        if len(found := theirs(text)) != 1 or not isinstance(found[0], exp.Alter) or found[0].kind != "TABLE":
            continue
        reading, table = read(text, "ALTER TABLE"), found[0].this
        name = tuple(
            None if part is None else part.name if part.quoted else part.name.lower()
            for part in (table.args.get("db"), table.this)
        )
        if reading.tables and tuple(reading.tables[0]) != name:
            unlike.append((text, name))
    assert unlike == []


def test_using_is_seen_where_sqlglot_sees_it() -> None:
    unlike = [
        text
        for text in texts("statements")
        if len(found := theirs(text)) == 1
        and isinstance(found[0], exp.Alter)
        and has_using(text, None) is False
        and any(one.args.get("using") for one in found[0].find_all(exp.AlterColumn))
    ]
    assert unlike == []


def test_how_much_of_the_statements_sqlglot_reads() -> None:
    """Fewer than nine in ten: the rest is a command without parts to it, or an error."""
    found = texts("statements")
    assert 0.6 < sum(bool(theirs(text)) for text in found) / len(found) < 0.9
