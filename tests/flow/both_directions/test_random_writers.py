"""Two databases that are written to at both ends, for a while, come to the same rows."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

from tests.flow.both_directions.random_writers import CONFLICTS, TABLES, Writers, require_equal
from tests.flow.both_directions.there_and_back import there_and_back


def test_random_changes_at_both_ends_come_to_the_same_rows(databases: Any, tmp_path: Path) -> None:
    """Conflicts are among them, and nothing that a channel has written returns to where it came from."""
    writers = Writers(there_and_back(databases, tmp_path, *TABLES, **CONFLICTS), random.Random(4))
    conflicts: Counter[str] = Counter()
    for _ in range(3):
        writers.write(60)
        for told in writers.pair.turns():
            conflicts += told.conflicts
        writers.write(20)
        writers.alter()
    require_equal(writers.pair)
    assert {what.split(": ")[1].split(",")[0] for what in conflicts} >= {"update_row_exists", "update_row_missing"}
