"""A fail point is a place where the crash tests kill the process; it is off unless DDLREPL_FAIL_AT names one.

    DDLREPL_FAIL_AT=integrate.staged ddlrepl replicate shop.yml       dies the first time it gets there
    DDLREPL_FAIL_AT=refresh.chunk:3 ddlrepl replicate shop.yml        dies the third time
    DDLREPL_FAIL_AT='*:7' ddlrepl replicate shop.yml                  dies at the seventh fail point, whichever it is

The process gets SIGKILL, as from the kernel: nothing is cleaned up, no lock released, no connection closed. With
DDLREPL_FAIL_BY=STOP the process stops there instead: a test kills it together with its relatives, or wakes it.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "DDLREPL_FAIL_AT"
HOW = "DDLREPL_FAIL_BY"
FAIL_POINTS = {
    "activate.source": "the source is prepared, neither targets nor repository know of it",
    "activate.target": "a target is prepared, the repository does not know that its tables wait for a refresh",
    "activate.targets": "the targets are prepared, the repository knows no table yet",
    "activate.enrolled": "the repository knows the tables, the channel is not active",
    "capture.published": "tables that could not be published when they were created are now",
    "capture.rows": "one table's rows are written to the trail, others of its range are not",
    "capture.range": "a range's files are written, its task has not returned",
    "capture.marked": "the source has a new mark, and the repository does not know it yet",
    "capture.files": "the rows are in the trail's files, no manifest names them",
    "trail.temporary": "a manifest (or the trail's marker) is written, not under its name yet",
    "capture.manifest": "the segment's manifest stands, the repository does not know it",
    "capture.repository": "the repository knows the segment, the source's slot still keeps its log",
    "capture.advanced": "the source has forgotten the segment's log, targets know nothing of it",
    "capture.inspected": "how far the catalog was inspected is recorded, tables published late are not ticked off",
    "propagate.files": "a segment's messages are in files of the destination, no manifest names them",
    "propagate.manifest": "the segment's manifest stands in the destination, leftover files are not removed",
    "sync_capture.triggers": "the triggers of a synchronous capture are made, which ones is not recorded",
    "sync_capture.window": "a window of what triggers have captured is open, nothing of it is in the feed",
    "sync_capture.files": "a window's rows are in files of the feed, no manifest names them",
    "sync_capture.manifest": "a window's segment stands in the feed, the source still has its rows",
    "replicate.window": "a window's rows are at a target, later windows of the same cycle are not captured yet",
    "integrate.loaded": "rows are copied into a staging table, not committed",
    "integrate.staged": "the net changes are staged at the target, nothing is merged",
    "integrate.rows": "some tables' rows are merged in the target's transaction",
    "integrate.altered": "a table is altered in the target's transaction",
    "integrate.sequences": "sequences are set, the target's transaction is not committed",
    "integrate.transaction": "rows are merged and tables altered, the target's transaction is not committed",
    "integrate.committed": "the target is committed, the ledger and the refreshes that it requests are not recorded",
    "integrate.first_commit": "what must be committed before it can be used (an enum's label) is, its rows are not",
    "ledger.begun": "a target without transactional DDL has stored what it is about to do, and not done it",
    "ledger.acted": "such a target has run a statement, and its ledger does not say so",
    "ledger.done": "such a target has done a change, and its ledger says so",
    "record.repository": "ledger and refreshes are recorded, the target still has them as unrecorded",
    "lake.intent": "what a window changes is stored, its catalog is not asked yet",
    "lake.swapped": "a catalog that changes one table at a time shows what a window changes of a table, or of more",
    "lake.renaming": "such a catalog has a table under its old name and under its new one",
    "lake.published": "a catalog beside the database shows what a window changes, the lake's position does not say so",
    "lake.renamed": "tables are renamed and dropped after a window at a REST server, the position does not say so",
    "refresh.shadow": "the shadow tables are made and empty",
    "refresh.copied": "a chunk is copied into a shadow table, not committed",
    "refresh.chunk": "one chunk is in the shadow table",
    "refresh.loaded": "every shadow table is loaded, none is in its place",
    "isolated.snapshot": "an isolated refresh has a snapshot of the source, and has loaded nothing",
    "isolated.loaded": "an isolated refresh has loaded its tables, and waits for the channel to place them",
    "refresh.transaction": "a shadow table is in its place, the transaction is not committed",
    "refresh.placed": "tables are refreshed at the target, the repository still has them waiting",
    "repair.transaction": "rows that differ are written, the target's transaction is not committed",
    "roll_back.transaction": "a table has the rows of an earlier snapshot, the target's transaction is not committed",
    "roll_back.committed": "a table is at an earlier snapshot and suspended, nothing has brought it up from the log",
    "reread.files": "a lost segment is read again from the source's log, its manifest still names the lost files",
    "save.written": "a refreshed table's rows are in files of the trail, no load names them",
    "rewind.begun": "a replay's place is empty and stands where it begins, nothing is loaded",
    "rewind.placed": "the tables of a replay are in their places at a live target, the repository does not know",
    "rewind.restored": "a load's tables are in the replay, the log after it is not",
    "apply.altered": "a DDL LCR has run in the target's transaction, which is not committed",
    "apply.error_stored": "a failed transaction is in the error queue, the target's transaction is not committed",
    "apply.transaction": "LCRs are applied and the client's position is written, the transaction is not committed",
    "apply.committed": "LCRs are applied and committed, the client goes on",
    "instantiate.copied": "rows of tables are copied into a target that has to have them before changes, not committed",
    "instantiate.committed": "tables are at such a target with their rows and positions, others are not",
    "cutover.sequences": "the targets' sequences have their headroom, nobody has looked again whether somebody writes",
    "cutover.caught_up": "the targets have the whole log of a quiet source, nothing says that the channel is cut over",
    "cutover.stopped": "the repository says that the channel is cut over, its targets do not",
    "cutover.marked": "a target says that it is cut over, others may not",
    "cutover.reopened": "no target says that it is cut over, the repository does",
    "keep.repository": "old segments are expired in the repository, their files still stand",
    "keep.manifest": "an old segment's manifest is gone, its files are not",
    "keep.files": "old segments are gone, leftovers are not swept",
}
_reached: Counter[str] = Counter()


def reach(name: str) -> None:
    """Kill the process here when DDLREPL_FAIL_AT names this fail point; otherwise only look into the environment."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    point, _, times = wanted.partition(":")
    _reached.update((name, "*"))
    if point in (name, "*") and _reached[point] == int(times or 1):
        os.kill(os.getpid(), signal.SIGSTOP if os.environ.get(HOW) == "STOP" else signal.SIGKILL)
