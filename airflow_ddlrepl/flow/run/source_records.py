"""What the last capture found at the source is stored for the next one, which tells by it what was changed there."""

from __future__ import annotations

import json
from functools import lru_cache

from airflow_ddlrepl.capture.feed_changes import MISSING
from airflow_ddlrepl.capture.source_record import SourceRecord
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.installation import Installation, Problem

MAY_MISS = "records of schema changes may be missing"


def last_record(run: RunContext) -> SourceRecord:
    """Return what the last capture found at the source; an empty record before the first one."""
    return _record(run.repository.source_record(run.channel.name) or "{}")


@lru_cache(2)
def _record(text: str) -> SourceRecord:
    """Return the record of a JSON text; a cycle asks for it again and again, and it names thousands of tables."""
    return SourceRecord.from_json(json.loads(text))


def store_record(run: RunContext, known: SourceRecord, now: SourceRecord) -> None:
    """Store what was found at the source, where that is another record than the one that is known."""
    if now != known:
        run.repository.set_source_record(run.channel.name, run.token, now.to_json())


def problems(run: RunContext, now: Installation) -> list[Problem]:
    """Return what is missing, switched off or not as activation has set it up, as far as repository and source know."""
    if not now.versions and last_record(run).versions:
        return [*now.problems, Problem(f"{MISSING} is missing: {MAY_MISS}", "-- run `ddlrepl activate` as a superuser")]
    return list(now.problems)
