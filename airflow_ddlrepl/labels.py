"""Say what a stage did in words that need no knowledge of our code: shared by the command line and by Airflow's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

LABELS: Mapping[str, str] = {
    "accepted": "went on although this is missing",
    "bytes": "bytes written into queues",
    "captured": "captured up to",
    "changes_since": "schema changes since then, in their order",
    "conflicts": "changes that found another row than they were made to",
    "contradicted": "tables of another shape than the captured schema changes give, enrolled as they are now",
    "ddl": "schema changes at the source",
    "discarded": "changes that are not replicated, and why",
    "drift": "tables that changed without a captured statement",
    "errors": "transactions that failed, and wait in an error queue",
    "existing": "tables that were there already",
    "expired": "pieces of the trail removed, as nobody needs them",
    "fewer_sessions": "applied fewer transactions at a time than `parallelism` says, and why",
    "functions": "functions called",
    "gap": "the log lacks",
    "high": "up to position",
    "joined_or_left": "tables that came into the channel or left it",
    "left_out": "tables that are not replicated, and why",
    "loaded": "tables loaded, and their rows",
    "lost": "tables whose changes are lost",
    "low": "from position",
    "migrated": "updates that subset rules made inserts or deletes of",
    "missing": "tables that are missing at the source",
    "new_targets": "new targets",
    "not_built": "tables that are not built, and why",
    "outdated": "tables whose captured shape is outdated",
    "outside": "rows at the target that its rules do not take",
    "placed": "tables put in the places of the target's, and their rows",
    "position": "captured from position",
    "positions": "done up to position",
    "reasons": "why tables were loaded",
    "refreshed": "tables loaded, and their rows",
    "refreshes": "tables that wait to be loaded again, and why",
    "removed": "controls removed",
    "reread": "pieces of the trail that were captured again",
    "revisions": "new shapes of tables recorded",
    "segments": "pieces of log written",
    "sequences": "sequences set",
    "statements": "statements run at the targets",
    "truncated": "tables emptied by a TRUNCATE, which is not captured",
    "uncaptured": "tables that lack changes which triggers did not capture",
    "undecodable": "tables whose changes can't be read",
    "unpublished": "tables that the file names and the source does not publish",
    "waiting": "transactions that wait in error queues",
}
"""What a field of a result means; a field that is not here is its own name, with spaces."""


def label(name: str) -> str:
    """Return what a field of a result means."""
    return LABELS.get(name, name.replace("_", " "))


def worth_showing(result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a result that say something, with their labels: no empty lists, no zeros."""
    for name, value in result.items():
        if value or value is False:
            yield label(name), value
