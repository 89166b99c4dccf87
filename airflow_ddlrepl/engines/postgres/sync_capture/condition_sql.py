"""This module writes a rule's condition as SQL for a trigger function, true, false or NULL as the condition is."""

from __future__ import annotations

import re

from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.engines.postgres.sync_capture.value_sql import IMAGES, NotInSql, ValueWriter, collated
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.printing import text_of

_UNLIKE = re.compile(r"\\[A-Za-z]|\{,|\[\]|\[\^\]|&&|--|~~|\|\|")
"""What a regular expression of Python says in another way than one of PostgreSQL."""


class ConditionWriter:
    """A condition writer writes conditions over the variables of a trigger function.

    source_database: as the LCRs have it. letters: a collation that knows upper and lower case; empty: there is none.
    """

    def __init__(self, source_database: str, letters: str = "") -> None:
        self._values = ValueWriter(source_database, letters, self._truth)

    def condition(self, node: tree.Truth) -> str:
        """Return a condition as SQL. Raises NotInSql for one that PostgreSQL can't evaluate as it is meant."""
        return self._truth(node)

    def _truth(self, node: tree.Truth) -> str:
        value = self._values.value
        match node:
            case tree.Known(known):
                return "NULL::boolean" if known is None else str(known).lower()
            case tree.Comparison(sign, left, right):
                return f"({value(left)} {sign} {value(right)})"
            case tree.IsNull(of, negated):
                return f"({value(of)} IS {_not(negated)}NULL)"
            case tree.IsAbsent(variable, image, column, _, negated):
                is_there = f"{IMAGES[image]} ? {literal(column)}" if variable == "dml" else "false"
                return f"({is_there})" if negated else f"(NOT ({is_there}))"
            case tree.Among(of, items, negated):
                return f"({value(of)} {_not(negated)}IN ({', '.join(map(value, items))}))"
            case tree.Between(of, low, high, negated):
                return f"({value(of)} {_not(negated)}BETWEEN {value(low)} AND {value(high)})"
            case tree.Like(of, pattern, escape, negated):
                behind = literal(_like_pattern(pattern, escape))
                return f"({value(of)} {_not(negated)}LIKE {behind} ESCAPE '!')"
            case tree.RegexpLike(of, pattern, flags):
                return self._regular_expression(node, value(of), pattern, flags)
            case tree.Not(of):
                return f"(NOT {self._truth(of)})"
            case tree.Holds(of):
                return f"({self._truth(of)} IS TRUE)"
            case tree.All(of) | tree.AnyOf(of):
                word = " AND " if isinstance(node, tree.All) else " OR "
                return f"({word.join(map(self._truth, of))})"
        raise NotInSql(f"{text_of(node)} is no condition over a row")

    def _regular_expression(self, node: tree.RegexpLike, of: str, pattern: str, flags: str) -> str:
        written = _regular_expression(pattern)
        if written is None:
            raise NotInSql(f"{text_of(node)}: the regular expression does not mean the same in PostgreSQL")
        if "i" in flags:
            return f"({self._values.with_letters(of, node)} ~* {literal(written)})"
        return f"({collated(of)} ~ {literal(written)})"


def _like_pattern(pattern: str, escape: str) -> str:
    """Return a pattern of LIKE with `!` as its escape character."""
    found, at = "", 0
    while at < len(pattern):
        sign = pattern[at]
        if escape and sign == escape and at + 1 < len(pattern):
            at += 1
            found += f"!{pattern[at]}" if pattern[at] in "%_!" else pattern[at]
        else:
            found += "!!" if sign == "!" else sign
        at += 1
    return found


def _regular_expression(pattern: str) -> str | None:
    """Return a regular expression as PostgreSQL writes it; None where the two may differ.

    `.` matches no line break, and `$` also matches before the last one.
    """
    if _UNLIKE.search(pattern) or not pattern.isascii() or pattern.startswith("***"):
        return None
    found, at, in_list = "", 0, False
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\" and at + 1 < len(pattern):
            sign += pattern[at + 1]
            at += 1
        elif in_list:
            in_list = sign != "]"
        elif sign == "[":
            in_list = True
        elif sign in ".$":
            sign = {".": r"[^\n]", "$": r"\n?$"}[sign]
        found += sign
        at += 1
    return found


def _not(negated: bool) -> str:
    return "NOT " if negated else ""
