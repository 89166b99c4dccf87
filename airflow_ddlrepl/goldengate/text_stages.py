"""The stages that Extract and Replicat have in common: comments, filters and substitutions."""

from __future__ import annotations

from airflow_ddlrepl.goldengate.filter_clauses import decide
from airflow_ddlrepl.goldengate.parameters.clauses import Filters
from airflow_ddlrepl.goldengate.parameters.options import AFTER, BEFORE, DdlParameters
from airflow_ddlrepl.goldengate.record import DISCARDED, GOES_ON, Record, Verdict
from airflow_ddlrepl.goldengate.substitution import substitute
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
