"""Plays a history whose targets refuse rows of random tables from one moment to another, while all other tables go on.

    python -m tests.histories.refused_rows 18 1-100

Each cycle must say which tables are suspended and why, and all others must be equal. At the end nothing is refused any
more, and all tables are equal. tests.histories.refusals has the ways in which a target refuses rows.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.work import InProcess
from tests.histories import histories, refusals
from tests.histories.catalog import Seen
from tests.histories.equality import Locked, asking, difference
from tests.histories.player import CHECK, IDLE, OPEN, Player, Step
from tests.histories.refusals import REFUSALS
from tests.histories.refused_statements import OfRefusals, about_refused
from tests.histories.restrictions import quoted

REFUSE, ACCEPT = "refuse", "accept"
MOST_REFUSALS = 3
LATE = (TableStatus.SUSPENDED, TableStatus.NEW, TableStatus.PENDING)
FUNCTION = "CREATE FUNCTION public.computed(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1 || ''!'''"
TREES = """
WITH RECURSIVE tree AS (SELECT unnest(%s::oid[]) AS id
    UNION SELECT inhrelid FROM pg_inherits JOIN tree ON inhparent = id)
SELECT id::bigint FROM tree
"""
IDS = "SELECT to_regclass(unnest(%s::text[]))::oid::bigint"
START = (
    "CREATE TABLE r1 (id int PRIMARY KEY, a int, b text)",
    "CREATE TABLE r2 (id int PRIMARY KEY, a int REFERENCES r1 ON DELETE CASCADE, b text)",
    "CREATE TABLE r3 (id int PRIMARY KEY, a bigint, b varchar(20))",
    "CREATE TABLE r4 (id int, k int, a int, PRIMARY KEY (id, k)) PARTITION BY LIST (k)",
    "CREATE TABLE r5 PARTITION OF r4 FOR VALUES IN (0, 1, 2)",
    "CREATE TABLE r6 PARTITION OF r4 DEFAULT",
    "INSERT INTO r1 SELECT i, i, i FROM generate_series(1, 5) i",
    "INSERT INTO r4 SELECT i, i % 5, i FROM generate_series(1, 9) i",
)


class Refusing(Player):
    """A step `refuse 0 check public.a 7` lets target 0 refuse rows, `accept 0 7` takes a refusal away, 7 chooses it."""

    words = OfRefusals

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        self.there = [psycopg.connect(url, autocommit=True) for url in self.targets]
        for target in self.there:
            target.execute(f"SET client_min_messages = warning; {refusals.SETUP}".encode())
        self.sessions[0].execute(FUNCTION.encode())
        self.lacks_function = [True] * len(self.there)

    def close(self) -> None:
        for target in self.there:
            target.close()
        super().close()

    def along(self, steps: Iterator[Step], seed: int) -> Iterator[Step]:
        """With refusals that come and go, and more cycles."""
        rng = random.Random(f"refusals {seed}")
        is_begun = is_active = False
        for step in super().along(steps, seed):
            yield step
            if not is_begun:
                yield from (Step(0, statement) for statement in START)
                is_begun = True
            is_active |= step.text == "activate"
            if not is_active:
                continue
            number, chance = rng.randrange(len(self.there)), rng.random()
            if chance < 0.12:
                yield Step(None, f"{REFUSE} {number} {rng.choice(list(REFUSALS))} {rng.randrange(1 << 20)}")
                yield from self._of_refused(rng)
            elif chance < 0.17:
                yield Step(None, f"{ACCEPT} {number} {rng.randrange(1 << 20)}")
            elif chance < 0.27:
                yield Step(None, CHECK)

    def _of_refused(self, rng: random.Random) -> Iterator[Step]:
        """Statements about tables whose rows a target refuses."""
        for _ in range(rng.randrange(1, 5)):
            if self.sessions[1].info.transaction_status not in (IDLE, OPEN):
                return
            seen = Seen.by(self.sessions[1], rng)
            names = {name for there in self.there for (name,) in there.execute(refusals.HAVING_REFUSALS.encode())}
            seen.tables = [table for table in seen.tables if table.name in names]
            if seen.tables:
                yield Step(1, about_refused(OfRefusals(rng, seen)), guarded=True)

    def _channel(self, step: Step) -> bool:
        what, *more = step.text.split()
        if what == REFUSE:
            return self._refuse(int(more[0]), more[1], random.Random(more[2]))
        if what == ACCEPT:
            return self._accept(int(more[0]), random.Random(more[1]))
        return super()._channel(step)

    def _refuse(self, number: int, kind: str, rng: random.Random) -> bool:
        target = self.there[number]
        found = target.execute(refusals.TABLES.encode()).fetchall()
        tables = [(name, columns) for name, columns, is_alone in found if columns and (is_alone or kind != "narrow")]
        if not tables or len(self._refusals(number)) >= MOST_REFUSALS:
            return False
        with suppress(psycopg.Error), target.transaction():
            sql = REFUSALS[kind](*rng.choice(tables), rng)
            target.execute(sql.encode())
            return bool(sql)
        return False

    def _refusals(self, number: int) -> list[str]:
        """The statements that take away what a target refuses rows by."""
        found = [statement for (statement,) in self.there[number].execute(refusals.TAKING_AWAY.encode())]
        return [*found, FUNCTION] if self.lacks_function[number] else found

    def _accept(self, number: int, rng: random.Random) -> bool:
        found = self._refusals(number)
        return bool(found) and self._is_taken_away(number, rng.choice(found))

    def _is_taken_away(self, number: int, statement: str) -> bool:
        """False: a generated column has come meanwhile that needs a narrowed one as it is."""
        with suppress(psycopg.errors.FeatureNotSupported):
            self.there[number].execute(statement.encode())
            self.lacks_function[number] &= statement != FUNCTION
            return True
        return False

    def finish(self) -> None:
        """Nothing is refused any more; what can't be taken away goes with a refresh."""
        for number in range(len(self.there)):
            done = [self._is_taken_away(number, statement) for statement in self._refusals(number)]
            if not all(done):
                self.replica.refresh("*.*")
        super().finish()

    def _act(self, what: str) -> None:
        try:
            super()._act(what)
        except DdlReplError as error:
            if error.retryable or not any(map(self._refusals, range(len(self.there)))):
                raise
            assert error.table and error.hint, error
            with flow.open_channel(self.replica.file, InProcess()) as run:
                assert run.repository.errors(run.channel.name)[0].code == error.code
            self.outcome.suspended += 1
            if what in (CHECK, "replicate"):
                with suppress(Locked):
                    self._check()

    def _check(self) -> None:
        """All tables but those that wait are equal at each target; the status says why a table is suspended."""
        with flow.open_channel(self.replica.file, InProcess()) as run:
            left_out = {one.table_id for one in run.source.membership.left_out() if not one.is_reloaded}
            told = flow.status(run).to_json()["targets"]
            states = [run.target(name).state().table_states for name in told]
        for number, (target, tables) in enumerate(zip(self.targets, told.values(), strict=True)):
            why = {table["table_id"]: table["why"] for table in tables["tables"]}
            late = [one for one in states[number].values() if one.state in LATE]
            suspended = [state for state in late if state.state is TableStatus.SUSPENDED]
            refused = {one.table_id for one in suspended if self._is_refused(number, one.name, why[one.table_id])}
            joined = self._trees(refused)  # a table that has become a partition waits for its partitioned table
            assert all(one.table_id in refused | joined for one in suspended), (suspended, refused)
            but = left_out | self._trees([one.table_id for one in late]) | self._narrowed(number)
            if differs := difference(self.source, target, but, self.called, self.wanted()):
                raise AssertionError(f"target {number} differs beside its suspended tables: {differs}")

    def _is_refused(self, number: int, name: TableName, why: str) -> bool:
        """Does the target refuse rows of a suspended table, or of one that it belongs to? why: what the status says."""
        if "INT-104" in why or (self.lacks_function[number] and "computed" in why):
            return True
        spelled = f"{quoted(name.schema)}.{quoted(name.name)}"
        (found,) = self.there[number].execute(refusals.IS_REFUSED.encode(), [spelled]).fetchall()
        return bool(why) and found[0]

    def _trees(self, ids: Collection[int]) -> set[int]:
        """These tables with the partitions that they have at the source."""
        with asking(self.source) as source:
            return {found for (found,) in source.execute(TREES, [list(ids)])}

    def _narrowed(self, number: int) -> set[int]:
        """Tables of the source that have a narrower column at a target."""
        names = [name for (name,) in self.there[number].execute(refusals.NARROWED.encode())]
        with asking(self.source) as source:
            return {found for (found,) in source.execute(IDS, [names])}


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Refusing))
