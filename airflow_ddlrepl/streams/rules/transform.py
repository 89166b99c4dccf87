"""This module does to a message what the rule says that is true for it: row migration, then declared changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.messages import Command, Message, RowLcr
from airflow_ddlrepl.streams.rules.batches import DISCARDED, WITHOUT_RULE, Taken
from airflow_ddlrepl.streams.rules.decide import Reason, Verdict
from airflow_ddlrepl.streams.rules.rule import ActionContext
from airflow_ddlrepl.streams.transformations.declared import transformed
from airflow_ddlrepl.streams.transformations.row_batches import migrated_batch, transformed_batch


def transformed_groups(batch: RowBatch, taken: Taken) -> list[tuple[ActionContext, RowBatch]]:
    """Return the taken rows of a batch as their rules leave them, in batches of one table and one set of columns.

    Each batch is in log order, and has the action that it was left by. Raises RuleError RUL-122 and RUL-127 where a
    declared transformation can't be done.
    """
    groups: list[tuple[ActionContext, list[int]]] = []
    for number in np.unique(taken.numbers):
        if number != DISCARDED:
            action = taken.rules[number].action if number != WITHOUT_RULE else NO_ACTION
            numbers = next((of for one, of in groups if one == action), None)
            if numbers is None:
                groups.append((action, [int(number)]))
            else:
                numbers.append(int(number))
    found = []
    for action, numbers in groups:
        rows = batch.only(np.isin(taken.numbers, numbers))
        subset = action.subset
        rows = transformed_batch(rows if subset is None else migrated_batch(rows, subset), action.declared)
        found.append((action, rows))
    return found


NO_ACTION = ActionContext()
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


def migrated(lcr: RowLcr, subset: Command) -> RowLcr:
    """Return an LCR as the subset rule that is true for it wants it. subset: which of the subset's three rules that is.

    An insert that was an update has every column: values that the update does not have are the old ones.
    """
    if lcr.command is not Command.UPDATE or subset is Command.UPDATE:
        return lcr
    if subset is Command.INSERT:
        return replace(lcr, command=Command.INSERT, new={**lcr.old, **lcr.new}, old={})
    return replace(lcr, command=Command.DELETE, new={})
