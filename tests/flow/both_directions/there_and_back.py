"""Two databases that replicate to each other by two channels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.replica import Replica, channel_file

ANSWERS = {
    "insert_row_exists": {"use_max": ["changed", "site"]},
    "update_row_exists": {"use_max": ["changed", "site"]},
    "update_row_missing": "overwrite",
    "delete_row_exists": "ignore",
    "delete_row_missing": "ignore",
}
"""Answers with which both ends come to the same rows: the later change wins, and a change wins over a delete."""


@dataclass
class Pair:
    """there: from the first database to the second. back: from the second to the first."""

    there: Replica
    back: Replica

    def turns(self, count: int = 1) -> list[Any]:
        """Run both channels in turns; return the results."""
        return [one.replicate() for _ in range(count) for one in (self.there, self.back)]

    def rows(self, query: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Return what the first database answers, and the second one."""
        return self.back.rows(query), self.there.rows(query)


def there_and_back(databases: Any, folder: Path, *before: str, **more: Any) -> Pair:
    """Two channels with these statements run at the first database; the second one has what was loaded from there."""
    sections = {"capture": {"ignore_sessions": {"names": ["ddlrepl*"]}}, **more}
    first, second = databases.source, databases.target
    there = Replica(first, second, channel_file(folder, first, second, channel="there", **sections))
    there.at_source(*before)
    there.activate()
    (folder / "back").mkdir()
    targets = [{"name": "warehouse", "location": first, "existing_tables": "replace"}]
    file = channel_file(folder / "back", second, first, channel="back", **{**sections, "targets": targets})
    back = Replica(second, first, file)
    back.activate()
    return Pair(there, back)
