"""Random transactions of the tables of `apply_model`, as two sessions of a source do them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import psycopg

from airflow_ddlrepl.streams.messages import Command
from tests.chaos.apply_model import LIMIT, Change, Model

BY_THEMSELVES = "nx"
"""Tables whose rows are in no transaction that the target may refuse: who frees a value of hr.n decides who gets it."""
COMMANDS = (Command.INSERT, Command.UPDATE, Command.DELETE)


@dataclass(frozen=True)
class Transaction:
    """A transaction of the source has changes of rows, or is a statement."""

    changes: tuple[Change, ...] = ()
    statement: str = ""

    @property
    def rows(self) -> set[tuple[str, int]]:
        """Which rows it changes."""
        return {(one.table, id_) for one in self.changes for id_ in (one.id, one.key)}

    @property
    def can_overlap(self) -> bool:
        """Whether another one can be open meanwhile: it waits for no other's values, and picks no row of several."""
        return bool(self.changes) and not {"n", "b"} & {one.table for one in self.changes}


@dataclass
class RandomSource:
    """This makes transactions. tables: of which it changes rows. is_refused: does the target refuse some of them?"""

    rng: random.Random
    tables: str
    is_refused: bool
    model: Model = field(default_factory=Model)
    theirs: list[tuple[str, int]] = field(default_factory=list)
    _last: int = 0
    _altered: int = 0

    def more_theirs(self, count: int) -> list[tuple[str, int]]:
        """Choose so many rows that the target is to have of its own: the source will insert some of them."""
        tables = [name for name in "te" if name in self.tables]
        found = [(self.rng.choice(tables), self._new()) for _ in range(count if tables and self.is_refused else 0)]
        self.theirs += found
        return found

    def transactions(self, count: int) -> list[Transaction]:
        """Make so many transactions, in the order of their commits."""
        return [self._transaction() for _ in range(count)]

    def _transaction(self) -> Transaction:
        chance = self.rng.random()
        if chance < 0.02:
            self._altered += 1
            return Transaction(statement=f"ALTER TABLE hr.t ADD x{self._altered} int DEFAULT {self._altered}")
        by_themselves = [name for name in self.tables if name in BY_THEMSELVES]
        tables = [name for name in self.tables if name not in BY_THEMSELVES]
        if by_themselves and chance < 0.25:
            tables = by_themselves
        elif chance < 0.5:
            tables = [self.rng.choice(tables)]
        size = self.rng.choice([1, 1, 1, 2, 3, 5]) if chance < 0.97 else self.rng.randrange(100, 300)
        changes = []
        for _ in range(size):
            one = self._change(self.rng.choice(tables), is_large=size > 50)
            self.model.at_source(one)
            changes.append(one)
        return Transaction(tuple(changes))

    def _change(self, table: str, *, is_large: bool) -> Change:
        rng = self.rng
        command = Command.INSERT if is_large and rng.random() < 0.8 else rng.choices(COMMANDS, (5, 4, 2))[0]
        if table == "b":
            return self._of_bag(command)
        rows = self.model.rows[table]
        note = rng.choice(["a", "b", "long " * 20])
        if command is Command.INSERT or not rows:
            return Change(table, Command.INSERT, self._id(table), self._k(table), note)
        id_ = rng.choice([*rows])
        if command is Command.UPDATE and rng.random() < 0.2:
            return Change(table, command, id_, *rows[id_], to=self._id(table), before=rows[id_][0])
        return Change(table, command, id_, self._k(table), note, before=rows[id_][0])

    def _of_bag(self, command: Command) -> Change:
        rows = [row for row, count in self.model.bag.items() if count]
        if command is Command.INSERT or not rows:
            return Change("b", Command.INSERT, self.rng.randrange(3), self.rng.randrange(3), "equal")
        return Change("b", command, *self.rng.choice(rows), to=self.rng.randrange(3))

    def _id(self, table: str) -> int:
        """A key that no row has; some have had it, and the target's own rows have others."""
        rng, rows = self.rng, self.model.rows[table]
        chance = rng.random()
        if chance < 0.05 and self.theirs:
            name, id_ = rng.choice(self.theirs)
            if name == table and id_ not in rows:
                return id_
        if chance > 0.7:
            id_ = rng.randrange(1, self._last + 2)
            if id_ not in rows and (table, id_) not in self.theirs:
                self._last = max(self._last, id_)
                return id_
        return self._new()

    def _new(self) -> int:
        self._last += 1
        return self._last

    def _k(self, table: str) -> int:
        if table == "n":
            used = {k for k, _ in self.model.rows["n"].values()}
            return self.rng.choice([k for k in range(len(used) + 5) if k not in used])
        if table == "t" and self.is_refused and self.rng.random() < 0.01:
            return LIMIT
        return self.rng.randrange(100)


def play(
    sessions: Sequence[psycopg.Connection[tuple[object, ...]]], transactions: Sequence[Transaction], rng: random.Random
) -> None:
    """Let a source do transactions; of some that follow each other the later one begins first."""
    one, other = sessions
    left = list(transactions)
    while left:
        first = left.pop(0)
        if left and first.can_overlap and left[0].can_overlap and not first.rows & left[0].rows and rng.random() < 0.4:
            _say(other, "BEGIN", *(change.statement for change in left.pop(0).changes))
            _say(one, "BEGIN", *(change.statement for change in first.changes), "COMMIT")
            _say(other, "COMMIT")
        else:
            texts = [first.statement] if first.statement else [change.statement for change in first.changes]
            _say(one, "BEGIN", *texts, "COMMIT")


def _say(session: psycopg.Connection[tuple[object, ...]], *statements: str) -> None:
    session.execute("; ".join(statements).encode())
