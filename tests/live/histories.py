"""Random histories of a source: DDL and rows of three sessions, cycles in between; then source and target are equal.

    python -m tests.live.histories 18 100-199        # PostgreSQL 18, seeds 100 to 199
    python -m tests.live.histories 18 123 shrink     # make a failing one short

Everything follows from the seed. What PostgreSQL refuses is skipped: inside a transaction by a savepoint, or the
transaction is lost.
"""

from __future__ import annotations

import logging
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
from psycopg.pq import TransactionStatus

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres import exported
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.work import InProcess
from tests.live.history_catalog import Seen
from tests.live.history_statements import ALL, SETUP, Words
from tests.live.replica import Replica, channel_file

log = logging.getLogger("histories")
SESSIONS = 3
IDLE, OPEN = TransactionStatus.IDLE, TransactionStatus.INTRANS
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"capture": {"format": "text"}},
    {"adapt_ddl": [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]},
)


@dataclass(frozen=True)
class Step:
    """session: who says it; None: the channel does it (activate, replicate). guarded: a savepoint before it."""

    session: int | None
    text: str
    guarded: bool = False

    def __str__(self) -> str:
        who = "channel" if self.session is None else f"session {self.session}{' guarded' if self.guarded else ''}"
        return f"/* {who} */ {self.text};"


ACTIVATE, REPLICATE = Step(None, "activate"), Step(None, "replicate")
ACTIONS: dict[str, Callable[[flow.Cycle], object]] = {
    "activate": flow.activate,
    "replicate": flow.replicate,
    "capture": flow.capture,
    "adapt": flow.adapt,
    "refresh": flow.refresh,
    "integrate": flow.integrate,
}
STAGES = ["replicate", "replicate", "replicate", "capture", "capture", "adapt", "refresh", "integrate"]


@dataclass
class Outcome:
    """failure: empty when all is well. steps: those that were not refused."""

    steps: list[Step] = field(default_factory=list)
    failure: str = ""
    refused: int = 0
    seconds: float = 0.0


class Player:
    """Plays steps on two fresh databases."""

    def __init__(self, source: str, target: str, folder: Path, variant: int) -> None:
        self.replica = Replica(source, target, channel_file(folder, source, target, **VARIANTS[variant]))
        self.sessions = [psycopg.connect(source, autocommit=True) for _ in range(SESSIONS)]
        for session in self.sessions:
            session.execute("SET lock_timeout = '50ms'; SET statement_timeout = '20s'")
        self.outcome = Outcome()

    def play(self, step: Step) -> bool:
        """False: refused by the server."""
        if step.session is None:
            self._channel(step)
            done = True
        else:
            done = self._say(self.sessions[step.session], step)
        if done:
            self.outcome.steps.append(step)
        else:
            self.outcome.refused += 1
        return done

    def _channel(self, step: Step) -> None:
        try:
            self._act(step.text)
        except DdlReplError as error:
            if not (error.retryable and self._end_all()):
                raise
            self._act(step.text)

    def _act(self, what: str) -> None:
        with flow.open_channel(self.replica.file, InProcess()) as cycle:
            ACTIONS[what](cycle)

    def _end_all(self) -> bool:
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
            session.execute(step.text)  # type: ignore[call-overload]
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
        for number, session in enumerate(self.sessions):
            if session.info.transaction_status is not IDLE:
                self.play(Step(number, "COMMIT"))
        self._end_prepared()
        self.play(REPLICATE)
        self.replica.check_equal()

    def close(self) -> None:
        for session in self.sessions:
            with suppress(psycopg.Error):
                session.rollback()
            session.close()
        with psycopg.connect(self.replica.source, autocommit=True) as connection:
            for (gid,) in connection.execute("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
                connection.execute(f"ROLLBACK PREPARED '{gid}'")  # type: ignore[call-overload]


@contextmanager
def player(server: Any, variant: int) -> Iterator[Player]:
    name = f"{random.SystemRandom().randrange(1 << 40):x}"
    with (
        tempfile.TemporaryDirectory(prefix="history-") as folder,
        mock.patch.object(exported, "LOCK_TIMEOUT", "300ms"),
    ):
        urls = [server.create_database(f"{side}_{name}") for side in ("source", "target")]
        playing = Player(urls[0], urls[1], Path(folder), variant)
        try:
            yield playing
        finally:
            playing.close()
            for side in ("source", "target"):
                server.drop_database(f"{side}_{name}")


def generate(server: Any, seed: int) -> Outcome:
    """Play the history of a seed, statement by statement as the sessions see the source."""
    rng = random.Random(seed)
    with player(server, seed % len(VARIANTS)) as playing:
        return _watched(playing, _random_steps(playing, rng))


def replay(server: Any, variant: int, steps: Sequence[Step]) -> Outcome:
    """Play given steps."""
    with player(server, variant) as playing:
        return _watched(playing, iter(steps))


def _watched(playing: Player, steps: Iterator[Step]) -> Outcome:
    started = time.monotonic()
    step = None
    try:
        for step in steps:
            playing.play(step)
        step = None
        playing.finish()
    except AssertionError as error:
        playing.outcome.failure = str(error)
    except Exception as error:
        playing.outcome.failure = (
            f"{type(error).__name__}: {error}\n{''.join(traceback.format_tb(error.__traceback__)[-4:])}"
        )
    if playing.outcome.failure and step is not None:
        playing.outcome.steps.append(step)
    playing.outcome.seconds = time.monotonic() - started
    return playing.outcome


def _random_steps(playing: Player, rng: random.Random) -> Iterator[Step]:
    guarded = rng.random() < 0.6
    yield Step(0, 'CREATE SCHEMA s2; CREATE SCHEMA "S p%s"')
    for _ in range(rng.randrange(2, 12)):
        yield Step(0, Words(rng, Seen.by(playing.sessions[0], rng)).one(SETUP))
    yield ACTIVATE
    if rng.random() < 0.5:
        for _ in range(rng.randrange(2, 8)):
            yield Step(0, Words(rng, Seen.by(playing.sessions[0], rng)).one(SETUP))
    for _ in range(rng.randrange(25, 60)):
        number = rng.choice([0, 0, 0, 0, 1, 1, 2])
        session = playing.sessions[number]
        if rng.random() < 0.12:
            yield Step(None, rng.choice(STAGES))
            continue
        is_open = session.info.transaction_status is OPEN
        if (ends := _transaction(rng, is_open, playing)) is not None:
            yield Step(number, ends)
        if session.info.transaction_status in (IDLE, OPEN):
            yield Step(number, Words(rng, Seen.by(session, rng)).one(ALL), guarded)


def _transaction(rng: random.Random, is_open: bool, playing: Player) -> str | None:
    """Begin, end, savepoints: what this session does about its transaction before the next statement."""
    chance = rng.random()
    if not is_open:
        if chance < 0.05:
            found = playing.sessions[0].execute("SELECT min(gid) FROM pg_prepared_xacts").fetchone()
            how = rng.choice(["COMMIT", "COMMIT", "ROLLBACK"])
            return f"{how} PREPARED '{found[0]}'" if found and found[0] else None
        if chance < 0.2:
            return f"BEGIN{rng.choice(['', '', ' ISOLATION LEVEL REPEATABLE READ'])}"
        return None
    if chance < 0.3:
        return rng.choice(
            ["COMMIT", "COMMIT", "COMMIT", "ROLLBACK", f"PREPARE TRANSACTION 'p{rng.randrange(1 << 30)}'"]
        )
    if chance < 0.45:
        return rng.choice(["SAVEPOINT one", "SAVEPOINT one", "ROLLBACK TO one", "RELEASE one"])
    return None


def shrink(server: Any, seed: int, outcome: Outcome, seconds: float = 240) -> Outcome:
    """Leave out statements while it still fails in the same way; halves first, then single ones."""
    best, until = outcome, time.monotonic() + seconds
    size = max(1, len(best.steps) // 2)
    while time.monotonic() < until:
        at, cut = 0, False
        while at < len(best.steps) and time.monotonic() < until:
            steps = best.steps[:at] + best.steps[at + size :]
            found = replay(server, seed % len(VARIANTS), steps) if ACTIVATE in steps else Outcome()
            if found.failure and _kind(found.failure) == _kind(best.failure):
                best, cut = found, True
            else:
                at += size
        if size == 1 and not cut:
            break
        size = max(1, size // 2)
    return best


def _kind(failure: str) -> str:
    return failure.split()[0].rstrip(":") if failure else ""


def script(seed: int, outcome: Outcome) -> str:
    """The history as SQL to read, with what went wrong."""
    lines = [f"-- seed {seed}, variant {VARIANTS[seed % len(VARIANTS)]}"]
    return "\n".join([*lines, *(str(s) for s in outcome.steps), "/* " + outcome.failure + " */"])


def report(seed: int, outcome: Outcome) -> str:
    said = "FAILED" if outcome.failure else "equal"
    return f"seed {seed}: {said}, {len(outcome.steps)} steps, {outcome.refused} refused, {outcome.seconds:.1f} s"


def main(version: int, seeds: Sequence[int], wish: str = "") -> None:
    from airflow_ddlrepl.demo.servers import PrivateServer

    logging.getLogger("ddlrepl").setLevel(logging.ERROR)
    logging.getLogger("alembic").setLevel(logging.ERROR)
    with PrivateServer("source", version) as server:
        for seed in seeds:
            outcome = generate(server, seed)
            print(report(seed, outcome), flush=True)
            if outcome.failure:
                print(script(seed, shrink(server, seed, outcome) if wish else outcome), flush=True)


if __name__ == "__main__":
    first, _, last = sys.argv[2].partition("-")
    main(int(sys.argv[1]), range(int(first), int(last or first) + 1), *sys.argv[3:])
