"""This module evaluates DDLSUBST parameters: all are decided first, then the true ones replace text, one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from airflow_ddlrepl.goldengate.filter_clauses import decide
from airflow_ddlrepl.goldengate.parameters.clauses import Substitution
from airflow_ddlrepl.goldengate.parameters.prepared import prepared_once
from airflow_ddlrepl.goldengate.record import Record
from airflow_ddlrepl.sql.comments import split_comments


class Substituted(NamedTuple):
    """A substituted record is what DDLSUBST parameters have made of it: how many were true, and how often they hit."""

    record: Record
    evaluated: int
    true: int
    replaced: int


def substitute(record: Record, substitutions: Sequence[Substitution]) -> Substituted:
    """Apply the substitutions that are true for a record, in their order, each to what the one before has made.

    Whether one is true is decided by the statement as it was before any of them.
    """
    if not substitutions:
        return Substituted(record, 0, 0, 0)
    true = [one for one in substitutions if decide(one.include, one.exclude, record).is_included]
    text, replaced = record.text, 0
    for one in true:
        searched, pattern, new = _prepared(one)
        if text.isascii() and searched not in text.lower():
            continue
        text, count = pattern.subn(new, text)
        replaced += count
    if replaced:
        command, comments = split_comments(text, record.dialect)
        record = record._replace(text=text, command=command, comments=comments or record.comments)
    return Substituted(record, len(substitutions), len(true), replaced)


@prepared_once
def _prepared(substitution: Substitution) -> tuple[str, re.Pattern[str], str]:
    """Return what is searched, in lower case and as an expression, and the replacement as its template.

    Lower case is enough to tell that an ASCII text lacks an ASCII one; any other text is searched by the expression.
    """
    expression = re.compile(re.escape(substitution.search), re.IGNORECASE)
    searched = substitution.search.lower() if substitution.search.isascii() else ""
    return searched, expression, substitution.replacement.replace("\\", r"\\")
