"""Random histories of a source: DDL and rows of three sessions, cycles in between; then source and targets are equal.

    python -m tests.histories.histories 18 1-5000         # PostgreSQL 18, seeds 1 to 5000; a failing one is made short
    python -m tests.histories.histories 18 123 whole      # one seed, as it was

Everything follows from the seed. What PostgreSQL refuses is skipped: inside a transaction by a savepoint, or the
transaction is lost. Exit code 1 when any history failed.
"""

from __future__ import annotations

import logging
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.histories.catalog import Seen
from tests.histories.player import ACTIVATE, CHECK, IDLE, OPEN, VARIANTS, Outcome, Player, Step, player
from tests.histories.statements import ALL, SETUP, Words
from tests.support import memory

STAGES = [CHECK, CHECK, CHECK, "replicate", "capture", "capture", "adapt", "refresh", "integrate"]
PER_SERVER = 400
PROGRESS = 25


def generate(server: Any, seed: int, kind: type[Player] = Player) -> Outcome:
    """Play the history of a seed, statement by statement as the sessions see the source."""
    rng = random.Random(seed)
    with player(server, seed % len(VARIANTS), kind) as playing:
        return _watched(playing, playing.along(_random_steps(playing, rng), seed))


def replay(server: Any, variant: int, steps: Sequence[Step], kind: type[Player] = Player) -> Outcome:
    """Play given steps."""
    with player(server, variant, kind) as playing:
        return _watched(playing, iter(steps))


def _watched(playing: Player, steps: Iterator[Step]) -> Outcome:
    started = time.monotonic()
    step = None
    try:
        with _in_time(playing.patience):
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


@contextmanager
def _in_time(seconds: int) -> Iterator[None]:
    """A history that hangs has failed."""

    def late(*_: object) -> None:
        raise TimeoutError(f"the history hangs for {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _random_steps(playing: Player, rng: random.Random) -> Iterator[Step]:
    guarded = rng.random() < 0.6
    yield Step(0, 'CREATE SCHEMA s2; CREATE SCHEMA "S p%s"')
    for _ in range(rng.randrange(2, 12)):
        yield Step(0, _words(playing, 0, rng).one(SETUP))
    yield ACTIVATE
    if rng.random() < 0.5:
        for _ in range(rng.randrange(2, 8)):
            yield Step(0, _words(playing, 0, rng).one(SETUP))
    for _ in range(rng.randrange(25, 60)):
        number = rng.choice([0, 0, 0, 0, 1, 1, 2])
        session = playing.sessions[number]
        if rng.random() < 0.09:
            yield Step(None, rng.choice(STAGES))
            continue
        is_open = session.info.transaction_status is OPEN
        if (ends := _transaction(rng, is_open, playing)) is not None:
            yield Step(number, ends)
        if session.info.transaction_status in (IDLE, OPEN):
            yield Step(number, _words(playing, number, rng).one(ALL), guarded)


def _words(playing: Player, session: int, rng: random.Random) -> Words:
    """About what this session sees."""
    return playing.words(rng, Seen.by(playing.sessions[session], rng, playing.words.types))


def _transaction(rng: random.Random, is_open: bool, playing: Player) -> str | None:
    """Begin, end, savepoints: what this session does about its transaction before the next statement."""
    chance = rng.random()
    if not is_open:
        if chance < 0.05:
            query = "SELECT min(gid) FROM pg_prepared_xacts WHERE database = current_database()"
            found = playing.sessions[0].execute(query).fetchone()
            how = rng.choice(["COMMIT", "COMMIT", "ROLLBACK"])
            return f"{how} PREPARED '{found[0]}'" if found and found[0] else None
        if chance < 0.2:
            return f"BEGIN{rng.choice(['', '', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE'])}"
        return None
    if chance < 0.3:
        return rng.choice(
            ["COMMIT", "COMMIT", "COMMIT", "ROLLBACK", f"PREPARE TRANSACTION 'p{rng.randrange(1 << 30)}'"]
        )
    if chance < 0.45:
        return rng.choice(["SAVEPOINT one", "SAVEPOINT one", "ROLLBACK TO one", "RELEASE one"])
    return None


def shrink(server: Any, seed: int, outcome: Outcome, seconds: float = 240, kind: type[Player] = Player) -> Outcome:
    """Leave out statements while it still fails in the same way; halves first, then single ones."""
    best, until = outcome, time.monotonic() + seconds
    size = max(1, len(best.steps) // 2)
    while time.monotonic() < until:
        at, cut = 0, False
        while at < len(best.steps) and time.monotonic() < until:
            steps = best.steps[:at] + best.steps[at + size :]
            found = replay(server, seed % len(VARIANTS), steps, kind) if ACTIVATE in steps else Outcome()
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
    back = f", {outcome.compared} tables gone back to" if outcome.compared else ""
    late = f", {outcome.suspended} cycles with suspended tables" if outcome.suspended else ""
    steps = f"{len(outcome.steps)} steps, {outcome.refused} refused{back}{late}"
    return f"seed {seed}: {said}, {steps}, {outcome.seconds:.1f} s"


def run(version: int, seeds: Sequence[int], kind: type[Player] = Player, *, is_whole: bool = False) -> list[int]:
    """Play these seeds, say how it goes, and return those that failed. is_whole: a failing one is not made short."""
    failed: list[int] = []
    started = time.monotonic()
    for at in range(0, len(seeds), PER_SERVER):
        with PrivateServer("source", version) as server:
            for count, seed in enumerate(seeds[at : at + PER_SERVER], at + 1):
                outcome = generate(server, seed, kind)
                if outcome.failure:
                    failed.append(seed)
                    told = outcome if is_whole else shrink(server, seed, outcome, kind=kind)
                    print(report(seed, outcome), script(seed, told), sep="\n", flush=True)
                if count % PROGRESS == 0 or count == len(seeds):
                    each = (time.monotonic() - started) / count
                    print(f"{count} of {len(seeds)} histories, {len(failed)} failed, {each:.1f} s each", flush=True)
    return failed


def main(arguments: Sequence[str], kind: type[Player] = Player) -> int:
    """arguments: of the command line, as above."""
    for name in ("ddlrepl", "alembic"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    PrivateServer.parent = memory.folder()
    version, spelled, *wish = arguments
    first, _, last = spelled.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    failed = run(int(version), seeds, kind, is_whole=wish == ["whole"])
    print(f"PostgreSQL {version}: {len(seeds)} histories, {len(failed)} failed: {failed or 'none'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
