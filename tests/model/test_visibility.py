"""What is stored of a snapshot is read by the engine whose it is, and by no other."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from airflow_ddlrepl.engines.postgres.pgoutput.xid_snapshot import XidSnapshot
from airflow_ddlrepl.model.position import BEGINNING, END, LogKey, Position
from airflow_ddlrepl.model.visibility import stored_visibility

SEEN = XidSnapshot(10, 20, frozenset({12, 15}), Position(0), Position(0x16B3748))


def test_a_stored_snapshot_is_read_as_it_was() -> None:
    assert SEEN.to_json() == {"xmin": 10, "xmax": 20, "running": [12, 15], "low": "0/0", "high": "0/16B3748"}
    assert stored_visibility(SEEN.to_json()) == SEEN
    assert str(SEEN) == "10:20:12,15"
    found = stored_visibility("10:20:12,15")
    assert [found.has(transaction_id) for transaction_id in (9, 12, 13, 15, 20)] == [True, False, True, False, False]
    assert stored_visibility("10:20:").is_quiet


def test_a_process_that_has_imported_no_engine_reads_it() -> None:
    code = (
        "from airflow_ddlrepl.model.visibility import stored_visibility; import sys;"
        "before = 'airflow_ddlrepl.engines' in sys.modules; print(before, stored_visibility('10:20:12,15'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False 10:20:12,15\n", done.stderr


@pytest.mark.parametrize("stored", ["", "binlog.000003:4", {"gtid": "1-2-3"}])
def test_a_snapshot_of_no_engine_is_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match="is a snapshot of no engine"):
        stored_visibility(stored)


def test_places_lie_around_a_change() -> None:
    change = LogKey(7, 2)
    assert (change.previous, change.next, change.behind) == (LogKey(7, 1), LogKey(7, 3), Position(8))
    assert Position(7).previous < Position(7) < Position(7).next == change.behind
    assert BEGINNING < LogKey(0, 0) < change < LogKey.last_before(change.behind) < END
