"""Histories with a memory: at random points the source's tables are noted, and every one of them is gone back to.

    python -m tests.histories.rewinds 18 1-1000        # as tests.histories.histories, which plays them

A table whose rows at a point can't be known must be named by the plan; all others must equal what was noted. And the
live target, whose rows of them are taken away, goes back to the point and on again: then it equals the source.
At last all rows of the trail are lost, and some of the points are gone back to by the log that the source holds.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psycopg import sql

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.histories import histories
from tests.histories.equality import Called, Locked, Name, asking, contents
from tests.histories.player import ACTIVATE, Player, Step

REMEMBER = Step(None, "remember")
OFTEN = 0.25
Said = Mapping[Name, Mapping[str, Any]]
LIVE, PAST = "target0", "past"


@dataclass(frozen=True)
class Memory:
    """What the source held at a position, once for each way in which the target may call its columns.

    said: of the tables by the channel file, where that decides what a target is to hold.
    """

    position: str
    tables: list[dict[Name, tuple[Any, ...]]]
    said: Said = field(default_factory=dict)


class Rememberer(Player):
    """Notes what the source holds, and at the end goes back to each of these moments.

    past_every, live_every: to every how many of them the replay goes back, and the live target. namings: what columns
    may be called at the targets; naming: which of these holds.
    """

    spare = 1
    namings: Sequence[Mapping[str, str | None]] = ({},)
    naming = 0
    past_every = live_every = 1

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        replays = [{"name": PAST, "location": urls[-1]}]
        horizon = {"age": "7d", "hold_log": {"age": "1d"}}
        super().__init__(urls[:-1], folder, {**options, "rewind_horizon": horizon, "replays": replays})
        self.past = urls[-1]
        self.memories: list[Memory] = []

    def along(self, steps: Iterator[Step], seed: int) -> Iterator[Step]:
        rng, is_active = random.Random(f"rewind {seed}"), False
        for step in steps:
            yield step
            is_active = is_active or step == ACTIVATE
            if is_active and rng.random() < OFTEN:
                yield REMEMBER

    def _act(self, what: str) -> None:
        if what != REMEMBER.text:
            super()._act(what)
            return
        with flow.open_channel(self.replica.file, InProcess()) as run:
            left_out = set(run.source.membership.unpublished_reasons())
        try:
            said, held = self.held(left_out)
        except Locked:
            return
        with asking(self.source) as connection:
            row = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        assert row is not None
        self.memories.append(Memory(row[0], held, said))

    def held(self, but: Collection[int]) -> tuple[Said, list[dict[Name, tuple[Any, ...]]]]:
        """What a memory keeps of the source as it is, without tables of these ids. Raises Locked."""
        return {}, [contents(self.source, but, caller(naming)) for naming in self.namings]

    def finish(self) -> None:
        super().finish()
        for memory in self.memories[:: self.past_every]:
            self._go_back(memory)
        for memory in self.memories[:: self.live_every]:
            self._go_back_and_on(memory)
        self.lose_rows()
        for memory in self.memories[:: max(1, len(self.memories) // 2)]:
            self._go_back(memory)

    def lose_rows(self) -> None:
        """Of every segment of the trail."""
        for file in (self.replica.file.parent / "trail").rglob("data/**/*.parquet"):
            file.unlink()

    def _go_back(self, memory: Memory) -> None:
        if wanted := self.possible(memory, PAST):
            self.replica.rewind(memory.position, PAST, [pattern(name) for name in wanted])
            self.check_past(memory, wanted)

    def check_past(self, memory: Memory, wanted: set[str]) -> None:
        """The replay holds these tables as they were, and nothing else."""
        there = contents(self.past)
        for name, held in memory.tables[self.naming].items():
            if ".".join(name) in wanted:
                self.outcome.compared += 1
                found = there.get(name)
                assert found == held, f"at {memory.position} {name} held {held}, the rewind made {found}"
        more = {".".join(name) for name in there} - wanted
        assert not more, f"at {memory.position} the rewind made {more}"

    def _go_back_and_on(self, memory: Memory) -> None:
        """A target that lost the rows of the tables gets them back, and is equal to the source again."""
        if wanted := self.possible(memory, LIVE):
            self.take_rows(wanted)
            self.replica.rewind(memory.position, LIVE, [pattern(name) for name in wanted])
            self._check()

    def take_rows(self, wanted: set[str]) -> None:
        """Of these tables of the live target."""
        names = [name for name in contents(self.targets[0]) if ".".join(name) in wanted]
        with asking(self.targets[0]) as connection:
            for name in names:
                connection.execute(sql.SQL("TRUNCATE ONLY {}").format(sql.Identifier(*name)))
            connection.commit()

    def possible(self, memory: Memory, into: str) -> set[str]:
        """Which tables can be gone back to."""
        wanted: Sequence[str] = ()
        while True:
            try:
                plan = self.replica.plan_rewind(memory.position, into, wanted)
            except DdlReplError as error:
                if error.code not in ("REW-101", "CFG-131"):
                    raise
                return set()  # nothing was loaded before it
            if plan.is_possible:
                return {table["table"] for table in plan.tables}
            unsafe = {t["table"] for t in plan.tables if t["verdict"] == "unsafe"}  # another one may have the same name
            safe = [pattern(t["table"]) for t in plan.tables if t["table"] not in unsafe]
            if not safe:
                return set()
            assert safe != wanted, f"at {memory.position} the plan offers what it refuses: {safe}"
            wanted = safe


def caller(naming: Mapping[str, str | None]) -> Called:
    """What a column is called; those that are not in it, as at the source."""
    return lambda column: naming.get(column, column)


def pattern(name: str) -> str:
    """A table's own name as a pattern: every part in quotes."""
    schema, _, table = name.replace('"', '""').partition(".")
    return f'"{schema}"."{table}"'


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Rememberer))
