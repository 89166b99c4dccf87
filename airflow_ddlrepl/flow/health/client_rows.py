"""The clients of Oracle Streams of a channel as its health has them: what the status says, and what stops one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.errors.carried import kind_named
from airflow_ddlrepl.flow.health.facts import Facts
from airflow_ddlrepl.flow.health.failures import each_failure, failure_text
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.flow.stages import APPLY, CAPTURE, REPLICATE
from airflow_ddlrepl.repository.stored.health_rows import StageEnd
from airflow_ddlrepl.streams.rules.client import ClientKind


def client_rows(facts: Facts) -> list[dict[str, Any]]:
    """Return the state of each client as the newest status has it, with its trouble; None: no open failure is its own.

    A trouble has `is_disabled`: nothing but a change of rules, functions or rows helps; else a later run may be enough.
    """
    found: list[dict[str, Any]] = facts.content.get("clients", [])
    return [{**one, "trouble": _trouble(facts, one)} for one in found]


def _trouble(facts: Facts, client: Mapping[str, Any]) -> dict[str, Any] | None:
    for end in facts.failures:
        for failure in each_failure(end.failure):
            if _is_of(client, end, failure):
                is_disabled = kind_named(failure["kind"]).disables_client
                since = moment_text(end.failing_since)
                text = failure_text(failure)
                return {"code": failure["code"], "text": text, "is_disabled": is_disabled, "since": since}
    return None


def _is_of(client: Mapping[str, Any], end: StageEnd, failure: Mapping[str, Any]) -> bool:
    """Is a failure this client's? That of a capture stands for all of its kind: a log has one."""
    kind = ClientKind(client["kind"])
    named = failure.get("client") or ""
    if kind is ClientKind.CAPTURE:
        return end.stage == CAPTURE.name or named.startswith(kind.words)
    if kind is ClientKind.APPLY:
        return end.stage in (APPLY.name, REPLICATE.name) and failure.get("target") == client["target"]
    return bool(named == f"{kind.words} {client['name']}")
