"""The status says which clients of Streams an error in a rule or a transformation has stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.config.sections.streams import Streams
from airflow_ddlrepl.errors.carried import kind_named
from airflow_ddlrepl.flow.health.failures import each_failure, failure_text, open_failures
from airflow_ddlrepl.flow.stages import CAPTURE
from airflow_ddlrepl.repository.stored.health_rows import StageEnd


def disabled_clients(section: Streams, ends: Mapping[str, StageEnd]) -> list[str]:
    """Return the clients that such an error keeps from their work, each with the error. ends: of the channel's stages.

    A client goes on, where it was, as soon as rule, transformation or function are changed.
    """
    failures = ((end.stage, failure) for end in open_failures(ends) for failure in each_failure(end.failure))
    disabling = ((_client(section, *one), one[1]) for one in failures if kind_named(one[1]["kind"]).disables_client)
    return sorted({f"{client} is disabled: {failure_text(failure)}" for client, failure in disabling if client})


def _client(section: Streams, stage: str, failure: Mapping[str, Any]) -> str:
    """Return the client that has failed, in words; empty: the failure is no client's."""
    if failure.get("target"):
        return f"the apply process of target {failure['target']}"
    from airflow_ddlrepl.streams.rules.client import ClientKind

    capture = f"{ClientKind.CAPTURE.words} {section.capture_name}".strip()
    return failure.get("client") or (capture if stage == CAPTURE.name else "")
