"""This module does to one message what a client's rules say: it is discarded, or taken and transformed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.streams.messages import DdlLcr, Message, RowLcr
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions, what_of
from airflow_ddlrepl.streams.queue.ddl.ddl_follows import lcr_with_row_names
from airflow_ddlrepl.streams.queue.ddl.row_names import RowNames
from airflow_ddlrepl.streams.queue.ddl_lcrs import require_agreement
from airflow_ddlrepl.streams.queue.exact_texts import with_texts
from airflow_ddlrepl.streams.queue.messages import message_in, with_message
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.decide import Reason, Verdict, decide
from airflow_ddlrepl.streams.rules.transform import transform


def ruled(client: Client, message: Message, functions: CustomFunctions) -> tuple[Verdict, Message]:
    """Return whether a client takes a message, and the message as its rule leaves it.

    Raises RuleError RUL-122 where a declared transformation can't be done, RUL-160 and RUL-161 as `lcr_with_row_names`
    does; what a custom function raises as `CustomFunctions.called` does, and RUL-136 as `require_agreement`.
    """
    verdict = decide(client, message)
    return after_rule(verdict, client, message, functions) if verdict.is_taken else (verdict, message)


def after_rule(
    verdict: Verdict, client: Client, message: Message, functions: CustomFunctions, texts: RowLcr | None = None
) -> tuple[Verdict, Message]:
    """Return a message that a client takes as its rule leaves it; the verdict may be that nothing is left of it.

    texts: a row LCR with the exact texts of its values, if those are to come back. Raises as `ruled` does.
    """
    acts = verdict.rule.action if verdict.rule is not None else None
    if texts is not None and (acts is None or not (acts.declared or acts.function or acts.subset)):
        return verdict, texts
    before = transform(message, verdict)
    if isinstance(before, DdlLcr):
        followed = lcr_with_row_names(before, RowNames(client, before.source_database), client.words)
        if followed is None:
            return replace(verdict, is_taken=False, reason=Reason.NOTHING_LEFT, why=Reason.NOTHING_LEFT.value), message
        before = followed
    exact = transform(texts, verdict) if texts is not None else None
    if exact is not None and exact is not texts:
        exact = with_texts(exact)
    action = verdict.rule.action if verdict.rule is not None and verdict.reason is Reason.POSITIVE else None
    if action is None or not action.function:
        return verdict, before if exact is None else exact
    (after,) = functions.called(action.function, before, is_array=False)
    if isinstance(after, DdlLcr) and after != before:
        require_agreement(after, action.function, what_of(before))
    return verdict, with_texts(after, before, exact) if isinstance(before, RowLcr) and exact is not None else after


def ruled_event(event: Event, client: Client, functions: CustomFunctions, discarded: Counter[str]) -> Event:
    """Return an application's message as a client leaves it; `discarded` says why the client does not take it.

    A capture process has no rules for messages: it takes them all. discarded: is counted up. Raises as `ruled` does.
    """
    if client.kind is ClientKind.CAPTURE:
        return event
    try:
        message = message_in(event)
    except RuleError as error:
        discarded[error.message] += 1
        return replace(event, discarded=error.message)
    verdict, left = ruled(client, message, functions)
    if verdict.is_taken:
        return event if left is message else with_message(event, left)
    discarded["messages"] += 1
    return replace(event, discarded=f"{client.words}: {verdict.why}")
