"""This module does to a message what the rule says that is true for it: row migration, then declared changes."""

from __future__ import annotations

from typing import TypeVar

from airflow_ddlrepl.streams.messages import Message, RowLcr
from airflow_ddlrepl.streams.rules.decide import Reason, Verdict
from airflow_ddlrepl.streams.transformations.declared import transformed
from airflow_ddlrepl.streams.transformations.row_migration import migrated

Some = TypeVar("Some", bound=Message)


def transform(message: Some, verdict: Verdict) -> Some:
    """Return a taken message as its rule leaves it; a custom function, which comes last, is the caller's to call.

    Raises RuleError RUL-122 where a declared transformation can't be done.
    """
    rule = verdict.rule
    if rule is None or verdict.reason is not Reason.POSITIVE or not isinstance(message, RowLcr):
        return message
    subset = rule.action.subset
    lcr = message if subset is None else migrated(message, subset)
    return transformed(lcr, rule.action.declared)  # type: ignore[return-value]
