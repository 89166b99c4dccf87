"""The stages that Extract and Replicat have in common: comments, filters and substitutions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from airflow_ddlrepl.goldengate.filter_clauses import decide
from airflow_ddlrepl.goldengate.parameters.clauses import Filters, Substitution
from airflow_ddlrepl.goldengate.parameters.options import AFTER, BEFORE, DdlParameters
from airflow_ddlrepl.goldengate.parameters.prepared import prepared_once
from airflow_ddlrepl.goldengate.record import DISCARDED, GOES_ON, Record, Verdict
from airflow_ddlrepl.sql.comments import split_comments


def separate_comments(record: Record, parameters: DdlParameters) -> Verdict:
    """Hold the command and its comments apart; the text itself still has both."""
    command, comments = split_comments(record.raw, record.dialect)
    found = ("{} comments", len(comments)) if comments else "no comments"
    return record._replace(command=command, comments=comments), found, GOES_ON


def remove_comments_before(record: Record, parameters: DdlParameters) -> Verdict:
    """Remove the comments from the text; INSTRCOMMENTS still finds them."""
    if BEFORE not in parameters.remove_comments:
        return record, "not asked for", GOES_ON
    why = ("{} comments removed, stored for filters", len(record.comments))
    return record._replace(text=record.command), why, GOES_ON


_NONE = Filters()


def filter_statement(record: Record, parameters: DdlParameters) -> Verdict:
    """Discard a statement that an EXCLUDE clause is true for, or no INCLUDE clause where there are any."""
    filters = parameters.ddl or _NONE
    is_included, why = decide(filters.include, filters.exclude, record)
    return record, why, GOES_ON if is_included else DISCARDED


def substitute_text(record: Record, parameters: DdlParameters) -> Verdict:
    """Replace text by each DDLSUBST that is true for the statement, in the order of the file."""
    record, *counts = substitute(record, parameters.substitutions)
    return record, ("{} evaluated, {} true, {} places replaced", *counts), GOES_ON


def remove_comments_after(record: Record, parameters: DdlParameters) -> Verdict:
    """Remove the comments now that they have been searched and substituted."""
    if AFTER not in parameters.remove_comments:
        return record, "not asked for", GOES_ON
    return record._replace(text=record.command), "comments removed", GOES_ON


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
