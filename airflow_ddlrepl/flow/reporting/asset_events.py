"""An asset event says what has reached the targets since the last event, for whoever waits for rows or a schema."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.engines.target_state import WAITING, TargetState
from airflow_ddlrepl.flow.reporting.keep_status import take_status
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.targets.readiness import ready_targets
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.ports.work import InProcess

Published = Mapping[str, Any]
Row = dict[str, Any]
History = Mapping[int, Sequence[Revision]]
_PROGRESS = ("position", "lag_bytes", "lag_seconds", "lag_is_at_most", "lag_unknown_since")


@dataclass(frozen=True)
class AssetEvents:
    """Asset events are JSON. status: of the channel. data, schema: what is new in each; None: nothing is."""

    status: dict[str, Any]
    data: dict[str, Any] | None
    schema: dict[str, Any] | None


def new_events(
    channel: Channel, data: Published | None = None, schema: Published | None = None, run_id: str = ""
) -> AssetEvents:
    """Return what is new at the targets since the last asset events.

    data, schema: the last event of each; None: there was none, then all that the targets have is new.
    The answer depends on the targets alone, not on runs: what a run brought before it failed is news later.
    The status is stored before anything is raised. Raises what `status` raises, and Unreachable when the source or a
    target does not answer; one that an earlier stage of the run has failed for is in the news when it answers again.
    """
    with RunContext(channel, InProcess(), run_id) as run:
        found = take_status(run, "integrate").to_json()
        run.source.clock()
        for _ in run.targets.answering():
            pass
        run.targets.raise_failed()
        return AssetEvents(found, _data(run, found, data or {}), _schema(run, schema or {}))


def _data(run: RunContext, status: Mapping[str, Any], published: Published) -> dict[str, Any] | None:
    before = published.get("targets", {}) if published.get("epoch") == run.epoch else {}
    now = {
        name: {**{key: found[key] for key in _PROGRESS}, "loaded": _loaded(run, name)}
        for name, found in status["targets"].items()
        if found["position"] is not None
    }
    now |= {name: published for name, published in before.items() if name in run.targets.away}
    missing = {one["table"]: one["why"] for one in status["left_out"]}
    is_news = missing.keys() != published.get("left_out", {}).keys()
    if not is_news and not any(_has_more(run, now[name], before.get(name, {})) for name in now):
        return None
    place = {"channel": run.channel.name, "epoch": run.epoch, "captured": str(run.captured())}
    return {**place, "targets": now, "left_out": missing}


def _loaded(run: RunContext, target: str) -> str | None:
    """Return when the newest refresh of a table was done at the target."""
    finished = [row.finished for row in run.repository.refreshes(run.channel.name, target) if row.finished]
    return max(finished).isoformat() if finished else None


def _has_more(run: RunContext, now: Row, before: Row) -> bool:
    """Was a table loaded, or has the target passed rows or statements of the log? An idle one is just moved up."""
    if now["loaded"] != before.get("loaded"):
        return True
    low, high = Position.parse(before.get("position", "0/0")), Position.parse(now["position"])
    passed = [row for row in run.repository.segments(run.channel.name, low) if row.low < high]
    return low < high and any(row.rows or row.events for row in passed)


def _schema(run: RunContext, published: Published) -> dict[str, Any] | None:
    history = run.repository.histories(run.channel.name)
    targets: dict[str, list[Row]] = {}
    changed: list[Row] = []
    for target in ready_targets(run):
        before = {row["table_id"]: row for row in published.get("targets", {}).get(target.name, ())}
        found = run.target(target.name).state()
        targets[target.name] = list(_tables(found, history, before))
        changed += [
            {"target": target.name, **row} for row in _changed(before, targets[target.name], history, run.types)
        ]
    before = published.get("targets", {})
    targets |= {name: rows for name, rows in before.items() if name in run.targets.away}
    return {"channel": run.channel.name, "changed": changed, "targets": targets} if changed else None


def _tables(found: TargetState, history: History, before: Mapping[int, Row]) -> Iterator[Row]:
    """Yield the tables of a target by name; one that waits, or is suspended, is as it was before."""
    for table_id, table_state in sorted(found.table_states.items(), key=lambda item: item[1].name):
        if table_state.state not in (*WAITING, TableStatus.SUSPENDED):
            yield _table(table_state, found.lsn, history.get(table_id, ()))
        elif table_id in before:
            yield before[table_id]


def _table(table_state: TableState, position: Position, history: Sequence[Revision]) -> Row:
    """Return one table of a target as JSON. shape: a hash that changes with the shape of the target's table."""
    since = max(position, table_state.snapshot.high) if table_state.snapshot else position
    revision = valid_at(history, LogKey(since, START_OF_TRANSACTION))
    parts = table_state.shape.to_json()
    del parts["column_versions"]  # no part of the shape
    shape = json.dumps(parts, sort_keys=True)
    return {
        "table": str(table_state.name),
        "table_id": table_state.table_id,
        "state": table_state.state.value,
        "revision": revision.number if revision else None,
        "from": str(Position(revision.key.lsn)) if revision else None,
        "shape": hashlib.sha256(shape.encode()).hexdigest()[:16],
    }


def _changed(before: Mapping[int, Row], rows: Sequence[Row], history: History, types: TypeSystem) -> Iterator[Row]:
    """Yield the tables that came, have another name, shape or state, or went."""
    now = {row["table_id"]: row for row in rows}
    for table_id in [*now, *(gone for gone in before if gone not in now)]:
        old, new = before.get(table_id), now.get(table_id)
        if old and new and all(old[key] == new[key] for key in ("table", "state", "shape")):
            continue
        known = history.get(table_id, ())
        first, last = _revision(old, known), _revision(new, known)
        yield {
            "table": (new or old or {})["table"],
            "table_id": table_id,
            "from_revision": first.number if first else None,
            "to_revision": last.number if last else None,
            "changes": _changes(first, last, types),
        }


def _changes(first: Revision | None, last: Revision | None, types: TypeSystem) -> list[str]:
    """Return the changes as text. They quote defaults: a password in a URL is not shown."""
    return [redact(str(one)) for one in diff(first.table if first else None, last.table if last else None, types)]


def _revision(row: Row | None, history: Sequence[Revision]) -> Revision | None:
    """Return the revision that a row means; None when the channel was activated again since."""
    if row is None:
        return None
    same = (r for r in history if r.number == row["revision"] and str(Position(r.key.lsn)) == row["from"])
    return next(same, None)
