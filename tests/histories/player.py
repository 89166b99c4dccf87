"""Plays the steps of a history on a source and its targets, with a channel between them."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
from psycopg.pq import TransactionStatus

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.merge import merge as lake_merge
from airflow_ddlrepl.engines.postgres.catalog import readable_tables
from airflow_ddlrepl.engines.postgres.connection.pool import reusing
from airflow_ddlrepl.engines.postgres.log import read_range
from airflow_ddlrepl.engines.postgres.merge import inline_rows
from airflow_ddlrepl.engines.postgres.source import members
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.integrate import stage_task
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.trail import pack, writer
from tests.histories.databases import databases
from tests.histories.equality import ALL_ROWS, Locked, Name, difference, hang_up
from tests.histories.statements import Words
from tests.support import memory
from tests.support.replica import Replica, channel_file

log = logging.getLogger("histories")
SESSIONS = 3
IDLE, OPEN = TransactionStatus.IDLE, TransactionStatus.INTRANS
DROPS = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET", "refresh_options": "-gr"}]
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"two": True, "packed": 1},  # targets; tables whose rows make a pack
    {"capture": {"format": "text"}, "given": 0},  # rows that need no staging table
    {"adapt_ddl": DROPS, "packed": 1, "given": 0},
    {"piece": 3, "anew": True},  # rows of one table that are staged and merged together; each run connects anew
)
OF_THE_CHANNEL = ("source", "capture", "adapt_ddl", "db_sequence", "retention", "rewind_horizon", "replays")


@dataclass(frozen=True)
class Step:
    """session: who says it; None: the channel does it (activate, replicate). guarded: a savepoint before it.

    must: when open transactions are in the way of the channel they are committed; else that run has failed.
    """

    session: int | None
    text: str
    guarded: bool = False
    must: bool = False

    def __str__(self) -> str:
        who = "channel" if self.session is None else f"session {self.session}{' guarded' if self.guarded else ''}"
        return f"/* {who} */ {self.text};"


ACTIVATE, REPLICATE = Step(None, "activate", must=True), Step(None, "replicate", must=True)
CHECK = "replicate and check"
STAGES = {name: getattr(flow, name) for name in ("activate", "replicate", "capture", "adapt", "refresh", "integrate")}


@dataclass
class Outcome:
    """failure: empty when all is well. steps: those that were not refused. compared: tables that were gone back to.

    suspended: cycles that named suspended tables.
    """

    steps: list[Step] = field(default_factory=list)
    failure: str = ""
    refused: int = 0
    compared: int = 0
    suspended: int = 0
    seconds: float = 0.0


class Player:
    """Plays steps on fresh databases: the source, then the targets.

    spare: how many it needs besides. words: the statements of random histories. patience: so many seconds one may take.
    smallest_piece: so many rows at least are staged together where a variant has small pieces.
    """

    spare = 0
    patience = 300
    smallest_piece = 1
    words: type[Words] = Words

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        more = {name: value for name, value in options.items() if name in OF_THE_CHANNEL}
        targets = [{"name": f"target{number}", "location": url} for number, url in enumerate(urls[1:])]
        self.source, self.targets = urls[0], urls[1:]
        self.replica = Replica(urls[0], urls[1], channel_file(folder, urls[0], urls[1], targets=targets, **more))
        self.sessions = [psycopg.connect(self.source, autocommit=True) for _ in range(SESSIONS)]
        for session in self.sessions:
            session.execute("SET lock_timeout = '50ms'; SET statement_timeout = '20s'")
        self.outcome = Outcome()

    def along(self, steps: Iterator[Step], seed: int) -> Iterator[Step]:
        """The steps of a random history, and what this player does besides."""
        return steps

    def called(self, column: str) -> str | None:
        """What a column of the source is called at the targets."""
        return column

    def wanted(self) -> Mapping[Name, str]:
        """The rows of the source's tables that the targets are to have; others have all."""
        return ALL_ROWS

    def play(self, step: Step) -> bool:
        """False: refused by the server."""
        if step.session is None:
            done = self._channel(step)
        else:
            done = self._say(self.sessions[step.session], step)
        if done:
            self.outcome.steps.append(step)
        else:
            self.outcome.refused += 1
        return done

    def _channel(self, step: Step) -> bool:
        """A run that an open transaction is in the way of fails, and a later one makes good; the last one must do."""
        try:
            self._act(step.text)
        except DdlReplError as error:
            if not error.retryable or (step.must and not self.end_all()):
                raise
            log.debug("not now: %s", error)
            if step.must:
                self._act(step.text)
        return True

    def _act(self, what: str) -> None:
        with flow.open_channel(self.replica.file, InProcess()) as run:
            STAGES["replicate" if what == CHECK else what](run)
        if what == CHECK:
            with suppress(Locked):
                self._check()

    def _check(self) -> None:
        """But for tables that can't be in the stream at all, or not while a transaction is open."""
        with flow.open_channel(self.replica.file, InProcess()) as run:
            left_out = {one.table_id for one in run.source.membership.left_out() if not one.is_reloaded}
        for number, target in enumerate(self.targets):
            if found := difference(self.source, target, left_out, self.called, self.wanted()):
                raise AssertionError(f"target {number} differs: {found}")

    def end_all(self) -> bool:
        """A refresh can't read a table that an open transaction has altered: let that transaction end."""
        open_ones = [s for s in self.sessions if s.info.transaction_status is not IDLE]
        for number, session in enumerate(self.sessions):
            if session in open_ones:
                self.play(Step(number, "COMMIT"))
        return self._end_prepared() or bool(open_ones)

    def _end_prepared(self) -> bool:
        first = self.sessions[0]
        found = first.execute("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()").fetchall()
        for (gid,) in found:
            self.play(Step(0, f"COMMIT PREPARED '{gid}'"))
        return bool(found)

    def _say(self, session: psycopg.Connection[Any], step: Step) -> bool:
        guarded = step.guarded and session.info.transaction_status is OPEN
        try:
            if guarded:
                session.execute("SAVEPOINT guard")
            _execute(session, step.text)
            if guarded and session.info.transaction_status is OPEN:
                session.execute("RELEASE SAVEPOINT guard")
        except psycopg.Error as error:
            log.debug("refused: %s: %s", step, str(error).splitlines()[0])
            status = session.info.transaction_status
            if guarded and status is TransactionStatus.INERROR:
                session.execute("ROLLBACK TO SAVEPOINT guard")
            elif status is not IDLE:
                session.execute("ROLLBACK")
            return False
        return True

    def finish(self) -> None:
        """All transactions end, one last cycle: our own compare and the servers' checksums find nothing."""
        for number, session in enumerate(self.sessions):
            if session.info.transaction_status is not IDLE:
                self.play(Step(number, "COMMIT"))
        self._end_prepared()
        self.play(REPLICATE)
        report = self.replica.compare()
        assert report.differences == 0, report.text()
        self._check()

    def close(self) -> None:
        for session in self.sessions:
            with suppress(psycopg.Error):
                session.rollback()
            session.close()
        hang_up()
        with psycopg.connect(self.source, autocommit=True) as connection:
            for (gid,) in connection.execute("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
                connection.execute(f"ROLLBACK PREPARED '{gid}'")  # type: ignore[call-overload]


def _execute(session: psycopg.Connection[Any], text: str) -> None:
    """COPY … FROM STDIN has its rows on the lines after it."""
    if not text.startswith("COPY "):
        session.execute(text)  # type: ignore[call-overload]
        return
    command, _, rows = text.partition("\n")
    with session.cursor() as cursor, cursor.copy(command) as copy:  # type: ignore[call-overload]
        copy.write(rows)


@contextmanager
def player(server: Any, variant: int, kind: type[Player] = Player) -> Iterator[Player]:
    options = VARIANTS[variant]
    with (
        tempfile.TemporaryDirectory(prefix="history-", dir=memory.folder()) as folder,
        databases(server, (3 if options.get("two") else 2) + kind.spare) as urls,
        _impatient(),
        _in_pieces(None if "piece" not in options else max(options["piece"], kind.smallest_piece)),
        mock.patch.object(writer, "MIN_PIECES", options.get("packed", pack.MIN_PIECES)),
        mock.patch.object(inline_rows, "MOST_ROWS", options.get("given", inline_rows.MOST_ROWS)),
        ExitStack() as stack,
    ):
        if not options.get("anew"):
            stack.enter_context(reusing())
        _repository(Path(folder))
        playing = kind(urls, Path(folder), options)
        try:
            yield playing
        finally:
            playing.close()


@cache
def _template() -> tempfile.TemporaryDirectory[str]:
    """The folder of an empty repository; it goes with the process."""
    folder = tempfile.TemporaryDirectory(prefix="history-")
    Repository.open(f"sqlite:///{folder.name}/repository.db").close()
    return folder


def _repository(folder: Path) -> None:
    for file in Path(_template().name).iterdir():
        shutil.copy(file, folder / file.name)


@contextmanager
def _impatient() -> Iterator[None]:
    """Nothing is worth waiting for: the open transaction is ours."""
    with (
        mock.patch.object(readable_tables, "LOCK_TIMEOUT", "100ms"),
        mock.patch.object(readable_tables, "PATIENCE_SECONDS", 0.0),
        mock.patch.object(members, "SETTLE_SECONDS", 0.0),
    ):
        yield


@contextmanager
def _in_pieces(rows: int | None) -> Iterator[None]:
    """Files and sections of so few rows each: cuts fall into transactions and statements. Few new rows are many."""
    if rows is None:
        yield
        return
    whole = read_range._messages

    def cut(*given: Any) -> Iterator[Any]:
        for messages in whole(*given):
            yield from (messages.slice(at, rows) for at in range(0, len(messages), rows))

    with (
        mock.patch.object(read_range, "_messages", cut),
        mock.patch.object(writer, "ROW_GROUP_BYTES", 1),
        mock.patch.object(writer, "FILE_ROWS", rows),
        mock.patch.object(stage_task, "ROWS_PER_SECTION", rows),
        mock.patch.object(lake_merge, "_MANY", 2),
    ):
        yield
