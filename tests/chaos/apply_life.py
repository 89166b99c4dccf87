"""Apply processes that are killed at random moments, and random histories through them: 0 lost, 0 twice.

    python -m tests.chaos.apply_life 18 --kills 100 --histories 100
    python -m tests.chaos.apply_life 18 --kills 5 --from 12              the life of seed 12 again: it dies five times

Each seed is a channel whose apply process has some of: sessions side by side, small groups, handlers, a precommit
handler, transactions that the target refuses. A reader beside sees only states that the source had, of which refused
transactions are missing, and never an earlier one again; each refused transaction is in the error queue once. Every
other history is one of `tests.histories.applied`, with random DDL. Exit code 1 when anything was otherwise.
"""

from __future__ import annotations

import argparse
import logging
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import psycopg

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.flow.streams.apply_process import group_apply, row_groups
from airflow_ddlrepl.ports.work import InProcess
from tests.chaos import apply_model
from tests.chaos.apply_model import AT_SOURCE, AT_TARGET, LOOK, THEIRS, Model
from tests.chaos.apply_random import RandomSource, play
from tests.flow.streams.streams_channel import APPLY, CAPTURE, StreamsChannel, streams_channel
from tests.histories import histories
from tests.histories.applied import Applying
from tests.histories.databases import databases
from tests.support import memory
from tests.support.crashing import SECONDS, processes
from tests.support.refusing import ask
from tests.support.replica import run

KILLS = 5  # of one life
ROUNDS = 4  # of one history
FUNCTIONS = {name: f"{apply_model.__name__}:{name}" for name in ("noted", "noted_error", "noted_commit")}


@dataclass(frozen=True)
class Kind:
    """What the apply process of a life is like.

    tables: whose rows change. group: rows of a group; 0: as many as ever. is_refused: are some of its transactions?
    """

    parallelism: int
    tables: str
    group: int
    is_refused: bool
    notes_commits: bool

    @classmethod
    def of(cls, rng: random.Random) -> Kind:
        others = [name for name in "wnbuegsx" if rng.random() < 0.5]
        tables = "t" + "".join(rng.choice([others, [*"wn"], [*"wnb"]]))
        return cls(rng.choice([1, 1, 2, 4]), tables, rng.choice([0, 40, 100]), rng.random() < 0.6, rng.random() < 0.15)

    def calls(self) -> Iterator[dict[str, Any]]:
        yield {"add_global_rules": {**CAPTURE, "include_ddl": True}}
        for name in "tnbueg":
            yield {"add_table_rules": {"table_name": f"hr.{name}", **APPLY, "include_ddl": name == "t"}}
        yield {"add_table_rules": {"table_name": "hr.w", **APPLY, "dml_rule_name": "r", "include_ddl": False}}
        renamed = {"from_column_name": "note", "to_column_name": "remark"}
        yield {"rename_column": {"rule_name": "r", "table_name": "hr.w", **renamed}}
        yield {"rename_table": {"rule_name": "r", "from_table_name": "hr.w", "to_table_name": "hr.v"}}
        yield {"add_subset_rules": {"table_name": "hr.s", "dml_condition": f"k < {apply_model.OUTSIDE}", **APPLY}}
        for name, function in (("u", "noted"), ("e", "noted_error")):
            handler = {"object_name": f"hr.{name}", "operation_name": "DEFAULT", "user_procedure": function}
            yield {"set_dml_handler": {**handler, "error_handler": name == "e"}}
        for name, value in (("parallelism", self.parallelism), ("disable_on_error", "N")):
            yield {"set_parameter": {"apply_name": "app", "parameter": name, "value": value}}
        if self.notes_commits:
            yield {"alter_apply": {"apply_name": "app", "precommit_handler": "noted_commit"}}


class Reader(threading.Thread):
    """A reader looks at the target again and again. seen: what it saw, without repetitions."""

    def __init__(self, target: str) -> None:
        super().__init__(daemon=True)
        self.seen: list[str] = []
        self._target = target
        self._ended = threading.Event()

    def run(self) -> None:
        with psycopg.connect(self._target, autocommit=True) as session:
            while not self._ended.wait(0.004):
                row = session.execute(LOOK).fetchone()
                if row is not None and row[0] not in self.seen[-1:]:
                    self.seen.append(row[0])

    def __enter__(self) -> Reader:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def _apply(file: Path, group: int, begins: Any) -> None:
    """Apply what is captured, as a process of its own. group: rows of a group."""
    with _in_groups(group), flow.open_channel(file, InProcess()) as context:
        begins.set()
        flow.apply(context)


@contextmanager
def _in_groups(rows: int) -> Iterator[None]:
    if not rows:
        yield
        return
    with (
        mock.patch.object(row_groups, "MOST_ROWS", rows),
        mock.patch.object(group_apply, "MOST_ROWS", rows),
        mock.patch.object(row_groups, "FEW_ROWS", 5),
        mock.patch.object(group_apply, "LEAST_ROWS", 10),
    ):
        yield


@dataclass
class Life:
    """A channel with an apply process, and what its target is to show. states: after each transaction that it takes."""

    rng: random.Random
    kind: Kind
    channel: StreamsChannel
    target: str
    sessions: list[Any]
    source: RandomSource
    model: Model
    states: list[str] = field(default_factory=list)
    refused: int = 0
    transactions: int = 0
    kills: int = 0
    amid: int = 0
    seconds: float = 0.5

    def go_on(self) -> None:
        """Let the source do transactions, and capture them."""
        for name, id_ in self.source.more_theirs(3):
            run(self.target, f"INSERT INTO hr.{name} (id, k, note) VALUES ({id_}, 0, '{THEIRS}')")
            self.model.rows[name][id_] = (0, THEIRS)
        made = self.source.transactions(self.rng.randrange(30, 150))
        for one in made:
            after = self.model.after(one.changes, is_ddl=bool(one.statement))
            if after is None:
                self.refused += 1
                continue
            self.model = after
            self.states.append(after.seen())
        self.transactions += len(made)
        play(self.sessions, made, self.rng)
        self.channel.stage(flow.capture)

    def apply(self) -> None:
        """Apply all that is captured: the target has every transaction once, or the error queue has."""
        with _in_groups(self.kind.group):
            self.channel.stage(flow.apply)
        [(seen,)] = ask(self.target, LOOK)
        assert seen == self.states[-1], f"the target is not as it should be: {self._difference()}"
        with self.channel.opened() as context:
            errors = flow.queued_errors(context)
        places = {one["at"] for one in errors}
        assert len(places) == len(errors) == self.refused, f"{self.refused} are refused, the error queue has {errors}"
        assert not self.channel.stage(flow.has_lcrs), "something is left to apply"

    def _difference(self) -> str:
        rows = {name: ask(self.target, f"SELECT * FROM hr.{'v' if name == 'w' else name}") for name in apply_model.ALL}
        for name, found in rows.items():
            there = sorted(row[:3] for row in found)
            of_key = sorted((id_, *row) for id_, row in self.model.rows.get(name, {}).items())
            wanted = sorted(self.model.bag.elements()) if name == "b" else of_key
            more, missing = Counter(there) - Counter(wanted), Counter(wanted) - Counter(there)
            if more or missing:
                return f"hr.{name} has {sorted(more.elements())[:20]}, not {sorted(missing.elements())[:20]}"
        there = sorted(text for (text,) in ask(self.target, "SELECT what FROM public.noted"))
        return f"noted {sorted(set(there) ^ set(self.model.noted))[:20]}"

    def die(self) -> bool:
        """Kill a run while it applies, at a random moment. False: it was faster."""
        begins = processes.Event()
        process = processes.Process(target=_apply, args=(self.channel.file, self.kind.group, begins))
        process.start()
        assert begins.wait(SECONDS), "the run does not begin"
        started, seconds = time.monotonic(), self.rng.random() * self.seconds
        process.join(seconds)
        process.kill()
        process.join(SECONDS)
        if process.exitcode == 0:
            self.seconds = 0.5 * (self.seconds + time.monotonic() - started)
            return False
        assert process.exitcode == -signal.SIGKILL, f"the run has ended with {process.exitcode}"
        self.seconds *= 1.1
        self.kills += 1
        return True

    def check(self, seen: list[str]) -> None:
        """Whether a reader has seen only states that follow each other."""
        places: dict[str, list[int]] = {}
        for place, state in enumerate(self.states):
            places.setdefault(state, []).append(place)
        at = 0
        for one in seen:
            assert one in places, f"a reader saw what the source never had, after state {at} of {len(self.states)}"
            later = [place for place in places[one] if place >= at]
            assert later, f"a reader saw state {places[one][-1]} again after state {at}"
            at = later[0]


@contextmanager
def life(server: Any, seed: int) -> Iterator[Life]:
    """Begin the life of a seed."""
    rng = random.Random(seed)
    kind = Kind.of(rng)
    with TemporaryDirectory(prefix="apply-", dir=memory.folder()) as folder, databases(server, 2) as urls:
        target = {"name": "site", "location": urls[1], "apply": "app"}
        functions = FUNCTIONS if kind.notes_commits else {n: f for n, f in FUNCTIONS.items() if n != "noted_commit"}
        channel = streams_channel(Path(folder), urls[0], *kind.calls(), targets=[target], functions=functions)
        run(urls[0], *AT_SOURCE)
        run(urls[1], *AT_TARGET)
        channel.activate()
        with ExitStack() as closing:
            sessions = [closing.enter_context(psycopg.connect(urls[0], autocommit=True)) for _ in range(2)]
            source = RandomSource(rng, kind.tables, kind.is_refused)
            model = Model(notes_commits=kind.notes_commits, is_in_order=kind.parallelism == 1)
            run(urls[1], f"UPDATE public.looks SET looks = {model.is_in_order}")
            living = Life(rng, kind, channel, urls[1], sessions, source, model, [model.seen()])
            with Reader(urls[1]) as reader:
                yield living
            living.check(reader.seen)
            living.amid = len(reader.seen)


def lived(server: Any, seed: int, kills: int) -> Life:
    """Live the life of a seed: with so many kills, or without a kill. Raises AssertionError."""
    with life(server, seed) as living:
        for _ in range(0 if kills else ROUNDS):
            living.go_on()
            living.apply()
        while living.kills < kills:
            living.go_on()
            died = living.die()
            if not died or living.rng.random() < 0.3:
                living.apply()
        living.apply()
    return living


def history(server: Any, seed: int) -> str:
    """Play a history with random DDL; return what went wrong."""
    outcome = histories.generate(server, seed, Applying)
    if not outcome.failure:
        return ""
    return histories.script(seed, histories.shrink(server, seed, outcome, kind=Applying))


def main() -> int:
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.apply_life", description=about)
    parser.add_argument("version", type=int, help="of PostgreSQL: 18 or 15")
    parser.add_argument("--kills", type=int, default=0, help="at random moments")
    parser.add_argument("--histories", type=int, default=0, help="random histories without a kill")
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="SEED", help="the first seed")
    given = parser.parse_args()
    for name in ("ddlrepl", "alembic", "psycopg"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    PrivateServer.parent = memory.folder()
    killed = [(given.first + at // KILLS, min(KILLS, given.kills - at)) for at in range(0, given.kills, KILLS)]
    jobs = [*killed, *((given.first + at, 0) for at in range(given.histories))]
    kills, failed = 0, []
    settings = {"max_active_replication_origins": "100"} if given.version >= 18 else {}  # databases go a while after
    with PrivateServer("source", given.version, settings=settings) as server:
        for number, (seed, wanted) in enumerate(jobs, 1):
            said, is_well = _told(server, seed, wanted)
            kills += wanted if is_well else 0
            failed += [] if is_well else [seed]
            print(f"{number} of {len(jobs)}: seed {seed}: {said}", flush=True)
    print(f"{kills} kills, {given.histories} histories: {len(failed)} failed: {failed or 'none'}", flush=True)
    return 1 if failed else 0


def _told(server: Any, seed: int, kills: int) -> tuple[str, bool]:
    started = time.monotonic()
    try:
        if not kills and seed % 2:
            failure = history(server, seed)
            return (failure or f"with DDL, equal, {time.monotonic() - started:.1f} s"), not failure
        one = lived(server, seed, kills)
    except Exception as error:  # the next seeds are to be tried all the same
        logging.getLogger("chaos").exception("seed %s", seed)
        return f"FAILED {type(error).__name__}: {error}", False
    what = f"{one.kind}: {one.kills} kills, {one.transactions} transactions, {one.refused} refused"
    return f"{what}, {one.amid} states seen, {time.monotonic() - started:.1f} s", True


if __name__ == "__main__":
    sys.exit(main())
