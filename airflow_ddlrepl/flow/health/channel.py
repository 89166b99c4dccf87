"""The health of a channel is what its page shows, as JSON: verdicts, tables, what waits for a person, history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from airflow_ddlrepl.errors.carried import kind_named
from airflow_ddlrepl.flow.health.facts import HISTORY, Facts, read_facts
from airflow_ddlrepl.flow.health.failures import each_failure, failure_text, failures_json
from airflow_ddlrepl.flow.health.tables import table_rows
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.flow.health.verdicts import channel_verdict, target_verdict
from airflow_ddlrepl.flow.health.waits_for_a_person import Waiting, stops_a_target, waiting_list
from airflow_ddlrepl.flow.stages import APPLY, CAPTURE, REPLICATE
from airflow_ddlrepl.repository.lag import by_hour
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.health_rows import LagRow, StageEnd
from airflow_ddlrepl.streams.rules.client import ClientKind

MOST_TABLES = 100


def channel_health(
    repository: Repository,
    channel: str,
    now: datetime,
    *,
    interval: float | None = None,
    file: str = "CHANNEL.yaml",
    tables: int = MOST_TABLES,
) -> dict[str, Any]:
    """Return the health of a channel from its repository alone; a channel that it does not know is `unknown`.

    interval: seconds between two runs of its schedule; None: as usual. file: the channel file, as commands shall name
    it. tables: at most so many, those in trouble first.
    """
    facts = read_facts(repository, channel, now, interval, file)
    content, waiting = facts.content, waiting_list(facts)
    rows = table_rows(facts, repository) if tables else []
    return {
        **_head(facts, waiting),
        "now": moment_text(now),
        "interval_seconds": facts.interval,
        "source": {
            **facts.source_place(),
            **content.get("setup", {}),
            "left_out": content.get("left_out", []),
        },
        "tables": rows[:tables],
        "tables_total": len(rows) if tables else None,
        "waiting": [one.to_json() for one in waiting],
        "failures": failures_json(facts.ends),
        "stages": [_stage(one) for one in sorted(facts.ends.values(), key=lambda one: one.ended)],
        "history": [lag_json(one) for one in facts.history],
        "trail": {**content["trail"], "as_of": _taken(facts)} if content.get("trail") else {},
        "apply": content.get("apply", []),
        "clients": client_rows(facts),
        "queues": content.get("queues", []),
        "cut_over": content.get("cut_over"),
    }


def channel_line(
    repository: Repository, channel: str, now: datetime, *, interval: float | None = None, file: str = "CHANNEL.yaml"
) -> dict[str, Any]:
    """Return the line of one channel in the list of all: the head of its health, and how much waits for a person."""
    facts = read_facts(repository, channel, now, interval, file)
    waiting = waiting_list(facts)
    return {**_head(facts, waiting), "waiting": len(waiting)}


def lag_history(repository: Repository, channel: str, now: datetime, hours: int) -> list[dict[str, Any]]:
    """Return how far the targets were behind in the last hours: each cycle of two days, else one row for each hour."""
    rows = repository.lag_rows(channel, now - timedelta(hours=hours))
    return [lag_json(one) for one in (by_hour(rows) if timedelta(hours=hours) > HISTORY else rows)]


def lag_json(row: LagRow) -> dict[str, Any]:
    """Return one row of the history as JSON."""
    return {
        "target": row.target,
        "at": moment_text(row.at),
        "lag_seconds": row.lag_seconds,
        "lag_bytes": row.lag_bytes,
        "rows": row.rows,
        "schema_changes": row.schema_changes,
        "seconds": row.seconds,
        "is_hour": row.is_hour,
    }


def _head(facts: Facts, items: list[Waiting]) -> dict[str, Any]:
    """Return how the channel and its targets are, and of when that is."""
    stopping = [one for one in items if stops_a_target(one)]
    verdicts = {name: target_verdict(facts, name, stopping) for name in facts.targets}
    return {
        "channel": facts.channel,
        "state": str(facts.state) if facts.state is not None else None,
        "verdict": channel_verdict(facts, verdicts, stopping).to_json(facts.now),
        "status": _status(facts),
        "running": _running(facts),
        "targets": [{**_target(facts, name), "verdict": one.to_json(facts.now)} for name, one in verdicts.items()],
    }


def _status(facts: Facts) -> dict[str, Any] | None:
    row = facts.status
    if row is None:
        return None
    age = round(facts.age(row.taken), 1)
    told = {"taken": moment_text(row.taken), "age_seconds": age, "run": row.run_id, "stage": row.stage}
    return {**told, "reason": row.reason, "seconds": row.seconds}


def _running(facts: Facts) -> dict[str, Any] | None:
    one = facts.holder
    return {"holder": one.holder, "since": moment_text(one.since), "is_live": one.is_live} if one else None


def _taken(facts: Facts) -> str | None:
    return moment_text(facts.status.taken) if facts.status is not None else None


def _target(facts: Facts, name: str) -> dict[str, Any]:
    """Return what is known of a target, without its tables; its place and lag are of one moment, `as_of`."""
    found = dict(facts.content.get("targets", {}).get(name, {}))
    tables = found.pop("tables", [])
    found |= facts.target_place(name)
    if "waits_until" in found:
        wait = facts.wait(name) or {}
        found |= {"waits_since": wait.get("since"), "waits_until": wait.get("until")}
    apply: dict[str, Any] = next((one for one in facts.content.get("apply", ()) if one["target"] == name), {})
    return {
        **apply,
        **found,
        "target": name,
        "tables": len(tables),
        "states": dict(Counter(table["state"] for table in tables)),
    }


def _stage(end: StageEnd) -> dict[str, Any]:
    return {
        "stage": end.stage,
        "run": end.run_id,
        "began": moment_text(end.began),
        "ended": moment_text(end.ended),
        "outcome": str(end.outcome),
        "failing_since": moment_text(end.failing_since),
        "failure": end.failure,
    }


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
