"""This module finds the transactions of ignored sessions in a stream, and counts the rows that are left out for them.

The log says at the start of a transaction of which replication origin it is. Its application name, or its role, is in a
message of the session or of a trigger, and in our DDL messages; they may come after rows of the transaction. A session
may call itself what it likes; its role is believed only where our trigger has signed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from airflow_ddlrepl.config.sections.ignored_sessions import IgnoredSessions, Session
from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import ROLE, SESSION, LogicalMessage, Stamp
from airflow_ddlrepl.engines.postgres.pgoutput.message_signature import content_of
from airflow_ddlrepl.engines.postgres.pgoutput.wire import Ints, Mask
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LAST_IN_TRANSACTION, LogKey

_SAID_BY = (SESSION, ROLE)
_COUNTED = {b"I"[0]: "inserts", b"U"[0]: "updates", b"D"[0]: "deletes"}


def is_role(message: LogicalMessage) -> bool:
    """Return whether a message says of which role its session is."""
    return message.prefix == ROLE and message.transactional


@dataclass(slots=True)
class _Left:
    """This counts the rows of one table that one setting has left out. lsn, xid, committed: the last transaction."""

    counts: Counter[str] = field(default_factory=Counter)
    lsn: int = 0
    xid: int = 0
    committed: int = 0


class IgnoredTransactions:
    """This object knows which transactions of a stream are ignored, and by which setting.

    known: of transactions that an earlier reading of the stream has found, by commit position.
    late: those that were found after some of their changes had been returned: the stream has to be read again.
    """

    def __init__(self, sessions: IgnoredSessions, known: Mapping[int, str] | None = None) -> None:
        self._sessions = sessions
        self._known = dict(known or {})
        self._labels = dict(self._known)
        self._left: dict[tuple[str, int, TableName | None], _Left] = {}
        self.late: dict[int, str] = {}

    def label(self, lsn: int) -> str:
        """Return the setting that ignores the transaction that commits there; empty when none does."""
        return self._labels.get(lsn, "")

    def see(self, session: Session, value: str, lsn: int, *, is_late: bool) -> None:
        """Take a transaction's origin, application name or role. is_late: changes of it were returned before."""
        if self._sessions and lsn not in self._labels and (label := self._sessions.ignores(session, value)):
            self._labels[lsn] = label
            if is_late:
                self.late[lsn] = label

    def see_message(
        self, message: LogicalMessage, at: Stamp, encoding: str, *, is_genuine: bool, is_late: bool
    ) -> bool:
        """Take what a session's message says of it; return whether it is such a message.

        is_genuine: has it our signature?
        """
        if message.prefix not in _SAID_BY or not message.transactional or not self._sessions:
            return message.prefix in _SAID_BY
        if message.prefix == SESSION:
            self.see(Session.NAME, message.content.decode(encoding, "replace"), at.key.lsn, is_late=is_late)
        elif is_genuine and (said := content_of(message.content, at.xid)) is not None and said.get("kind") == "role":
            self.see(Session.ROLE, str(said["role"]), at.key.lsn, is_late=is_late)
        return True

    def see_event(self, event: Event, *, is_late: bool) -> None:
        """Take what a DDL record says of its session."""
        for session, setting in ((Session.NAME, "application_name"), (Session.ROLE, "role")):
            self.see(session, str(event.settings.get(setting) or ""), event.key.lsn, is_late=is_late)

    def mark(self, event: Event) -> Event:
        """Return the event with the setting that ignores its transaction, if one does."""
        label = self.label(event.key.lsn) if event.transaction_id else ""
        if label:
            left = self._left.setdefault((label, 0, None), _Left())
            left.lsn, left.xid, left.committed = event.key.lsn, event.transaction_id, event.committed
        return replace(event, ignored=label) if label else event

    def among(self, commits: Ints) -> Mask | None:
        """Return which of these transactions, by commit position, are ignored; None: none is."""
        if not self._labels:
            return None
        found = np.fromiter((lsn in self._labels for lsn in commits.tolist()), np.bool_, len(commits))
        return found if found.any() else None

    def count(self, table_id: int, name: TableName, tags: npt.NDArray[np.uint8], transactions: Sequence[Ints]) -> None:
        """Count rows of a table that are left out, in log order: their messages, their lsn, xid, committed."""
        lsn, xid, committed = transactions
        ends = np.flatnonzero(np.diff(lsn, append=-1))
        for begin, end in pairwise([-1, *ends.tolist()]):
            left = self._left.setdefault((self.label(int(lsn[end])), table_id, name), _Left())
            for tag, what in _COUNTED.items():
                if number := int((tags[begin + 1 : end + 1] == tag).sum()):
                    left.counts[what] += number
            left.lsn, left.xid, left.committed = int(lsn[end]), int(xid[end]), int(committed[end])

    def forget_all_but(self, lsn: int) -> None:
        """Forget transactions that have ended. lsn: the commit position of the one that has not."""
        self._labels = {**self._known, **{at: label for at, label in self._labels.items() if at == lsn}}

    def events(self) -> list[Event]:
        """Return one event for each setting and table: how many changes are left out, placed behind the last one."""
        found: list[Event] = []
        with_rows = {label for label, _, name in self._left if name}
        for (label, table_id, name), left in self._left.items():
            if name is None and label in with_rows:
                continue
            key = LogKey(left.lsn, LAST_IN_TRANSACTION - len(found))
            text = ", ".join(f"{number} {what}" for what, number in sorted(left.counts.items()))
            tables = ((table_id, name),) if name else ()
            found.append(
                Event(EventKind.IGNORED, key, left.xid, left.committed, tag=label, statement=text, dropped=tables)
            )
        return sorted(found, key=lambda event: event.key)
