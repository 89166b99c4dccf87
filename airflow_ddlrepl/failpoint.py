"""Fail points: places where the crash tests kill the process. Off unless DDLREPL_FAIL_AT names one.

    DDLREPL_FAIL_AT=integrate.staged ddlrepl replicate shop.yml       dies the first time it gets there
    DDLREPL_FAIL_AT=refresh.chunk:3 ddlrepl replicate shop.yml        dies the third time

SIGKILL, as from the kernel: nothing is cleaned up, no lock released, no connection closed.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "DDLREPL_FAIL_AT"
SIGNAL = signal.SIGKILL
FAIL_POINTS = {
    "activate.source": "the source is prepared, neither targets nor repository know of it",
    "activate.targets": "the targets are prepared, the repository knows no table yet",
    "capture.files": "the rows are in the trail's files, no manifest names them",
    "capture.manifest": "the segment's manifest stands, the repository does not know it",
    "capture.repository": "the repository knows the segment, the source's slot still keeps its log",
    "integrate.staged": "the net changes are staged at the target, nothing is merged",
    "integrate.transaction": "rows are merged and tables altered, the target's transaction is not committed",
    "integrate.committed": "the target is committed, the ledger and the refreshes asked for are not recorded",
    "refresh.chunk": "one chunk is in the shadow table",
    "refresh.loaded": "every shadow table is loaded, none is in its place",
    "refresh.transaction": "a shadow table is in its place, the transaction is not committed",
    "refresh.placed": "a table is refreshed at the target, the repository still has it waiting",
}
_reached: Counter[str] = Counter()


def reach(name: str) -> None:
    """Dies here when DDLREPL_FAIL_AT says so; costs a dictionary look-up otherwise."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    point, _, times = wanted.partition(":")
    _reached[name] += 1
    if name == point and _reached[name] == int(times or 1):
        os.kill(os.getpid(), SIGNAL)
