"""Which tables lack rows because somebody has changed what the source writes into its log, be it for a while.

Each cycle compares what the log has of the tables now with what it had when the last one looked.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_ddlrepl.model.installation import Feed, Installation, PublishedTable, SessionNames

OPTIONS = "an option of what the source publishes was changed: rows may be missing from the log"
TAKEN_OUT = "the source has not published it for a while: rows may be missing from the log"
MISSING = "the helper schema ddlrepl"
UNSURE = PublishedTable("")
"""What the log had of a table that came into it while a capture looked: nothing can be told from it."""


def changed(known: Mapping[str, str] | None, now: Installation) -> list[str]:
    """Return what somebody has done to what the channel has set up, one line for each object.

    known: the versions of an earlier look; None: there was none.
    """
    if not known:
        return []
    if not now.versions:
        return [] if MISSING in known else [f"{MISSING} was dropped"]
    if MISSING in known:
        return [f"{MISSING} was made again"]
    gone = [f"{name} was dropped" for name in known if name not in now.versions]
    found = [f"{name} was changed" for name, version in now.versions.items() if known.get(name, version) != version]
    return sorted([*gone, *found], key=lambda one: not one.startswith("event trigger"))


def versions_seen(known: Mapping[str, str] | None, now: Installation) -> dict[str, str]:
    """Return the versions to compare the next look with: that all is missing is not forgotten."""
    return {MISSING: ""} if known and not now.versions else dict(now.versions)


def unnamed(known: SessionNames | None, now: SessionNames | None) -> frozenset[int]:
    """Return the tables, by id, whose changes may lack the names of ignored sessions since an earlier look.

    Nothing is told from a look at other sessions, or before the first one.
    """
    if known is None or now is None or known.condition != now.condition:
        return frozenset()
    return frozenset(i for i, version in now.versions.items() if known.versions.get(i, version) != version)


def lacking_rows(known: Feed | None, now: Feed | None) -> dict[int, str]:
    """Return why tables have to be loaded again, by id: the log lacks rows of theirs, or may lack some.

    Records in the log have the tables that recorded changes of an option have kept out of it.
    """
    if known is None or now is None:
        return {}
    found: dict[int, str] = {}
    for table_id, one in now.tables.items():
        before = known.tables.get(table_id)
        if known.version != now.version and not now.is_recorded:
            found[table_id] = OPTIONS
        if before in (UNSURE, one):
            continue
        if one.lacks or (before is not None and before.lacks):
            found[table_id] = one.lacks or (before.lacks if before else "")
        elif before is None or before.entry != one.entry:
            found[table_id] = TAKEN_OUT
    return found
