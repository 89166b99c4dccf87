"""Plays a history of keys and generated columns: keys that go and come again, deferrable ones, columns in any order.

    python -m tests.histories.keys 18 1-100

goes back through such histories, as tests.histories.rewinds does. `KINDS` are the statements, with their weights.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from tests.histories import histories
from tests.histories.catalog import Col, Tab
from tests.histories.rewinds import Rememberer
from tests.histories.row_statements import COLUMNS, bare
from tests.histories.statements import Weights, Words

CHANCE = 0.4
GENERATED = ["g", "h", "b"]
KEYS = [*[" PRIMARY KEY"] * 3, "", "", " NOT NULL UNIQUE", " PRIMARY KEY DEFERRABLE", " NOT NULL UNIQUE DEFERRABLE"]
DEFERRED = ["", "", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE INITIALLY DEFERRED"]
NUMBERS = ("smallint", "integer", "bigint", "int")


class OfKeys(Words):
    """Every few statements one of `KINDS`."""

    def one(self, weights: Weights) -> str:
        if self.rng.random() >= CHANCE:
            return super().one(weights)
        return self.rng.choices(list(KINDS), list(KINDS.values()))[0](self)

    def col(self, tab: Tab) -> Col:
        """No virtual column: of another type it might be one that nobody can read, at the source either."""
        return super().col(replace(tab, columns=tuple(c for c in tab.columns if c.generated != "v")))

    # -- tables

    def definition(self) -> str:
        """Columns stand in any order, generated ones also before those that they are computed from."""
        rng = self.rng
        plain = {"id": rng.choice(["int", "int", "bigint", "text"])}
        plain |= {name: rng.choice(["int", "int", "text", self.type()]) for name in rng.sample(COLUMNS[1:], 2)}
        inputs = [Col(name, of, "", "", False, "b") for name, of in plain.items()]
        parts = [f"{name} {of}{rng.choice(KEYS) if name == 'id' else self.default()}" for name, of in plain.items()]
        made = [name for name in rng.sample(GENERATED, rng.choice([0, 1, 1, 2])) if name not in plain]
        parts += [f"{name} {self.computed(inputs)}" for name in made]
        rng.shuffle(parts)
        return f"({', '.join(parts)})"

    def computed(self, inputs: list[Col]) -> str:
        """A generated column's type and expression; kind: stored more often than virtual."""
        rng = self.rng
        column = rng.choice([c for c in inputs if c.type in (*NUMBERS, "text")] or inputs)
        of, expression = (
            ("bigint", f"{column.name} * {rng.randrange(1, 4)}")
            if column.type in NUMBERS and rng.random() < 0.7
            else ("text", f"{column.name}::text || '{rng.choice('gh')}'")
        )
        return f"{of} GENERATED ALWAYS AS ({expression}) {rng.choice(['STORED', 'STORED', 'VIRTUAL'])}"

    def made_again(self) -> str:
        """A table that was dropped comes again with other columns, in one statement or some statements later."""
        tab = self.tab()
        made = self.rng.choice([f"; CREATE TABLE {tab.name} {self.definition()}"] * 2 + [""])
        return f"DROP TABLE {tab.name}{made}"

    # -- keys

    def key_columns(self, tab: Tab) -> str:
        wish = [c.name for c in tab.columns if c.name == "id" or c.not_null] or [self.col(tab).name]
        return ", ".join(self.rng.sample(wish, min(len(wish), self.rng.choice([1, 1, 2]))))

    def key_goes(self) -> str:
        tab = self.tab()
        known = self.rng.choice(tab.constraints) if tab.constraints else f'"{bare(tab.name)}_pkey"'
        return f"ALTER TABLE {tab.name} DROP CONSTRAINT {known}{self.rng.choice(['', ' CASCADE'])}"

    def key_comes(self) -> str:
        tab, rng = self.tab(), self.rng
        sort = rng.choice(["PRIMARY KEY", "PRIMARY KEY", "UNIQUE"])
        return f"ALTER TABLE {tab.name} ADD {sort} ({self.key_columns(tab)}){rng.choice(DEFERRED)}"

    def key_again(self) -> str:
        """Of other columns, deferrable or no more."""
        return f"{self.key_goes()}; {self.key_comes()}"

    def key_exchanged(self) -> str:
        tab, rng = self.tab(), self.rng
        known = rng.choice(tab.constraints) if tab.constraints else "a_pkey"
        add = f"ADD PRIMARY KEY ({self.key_columns(tab)}){rng.choice(DEFERRED)}"
        return f"ALTER TABLE {tab.name} DROP CONSTRAINT {known}, {add}"

    def keys_move(self) -> str:
        """All keys of a table at once: with a key that is not deferrable the server may refuse it."""
        tab, rng = self.tab(), self.rng
        found = [c.name for c in self.plain_cols(tab) if c.type in NUMBERS]
        name = "id" if "id" in found else rng.choice(found or ["id"])
        one, two = rng.sample(range(1, 8), 2)
        swap = f"CASE {name} WHEN {one} THEN {two} WHEN {two} THEN {one} ELSE {name} END"
        return f"UPDATE {tab.name} SET {name} = {rng.choice([f'{name} + 1', f'{name} - 1', swap, f'9 - {name}'])}"

    def keys_pass_twice(self) -> str:
        """A deferred key lets two rows have one value while the transaction goes on."""
        tab = self.tab()
        rows = f"INSERT INTO {tab.name} (id) VALUES (1), (1), (2)"
        return f"{rows}; DELETE FROM {tab.name} WHERE ctid IN (SELECT min(ctid) FROM {tab.name} GROUP BY id::text)"

    # -- generated columns

    def generated_comes(self) -> str:
        tab = self.tab()
        inputs = self.plain_cols(tab) or [self.col(tab)]
        name, plain = self.rng.choice(GENERATED), self.rng.choice(COLUMNS)
        add = f"ADD {name} {self.computed(inputs)}"
        return f"ALTER TABLE {tab.name} {self.rng.choice([add, add, f'{add}, ADD {plain} int'])}"

    def generated_changes(self) -> str:
        """Its expression, or its input; the server refuses much of it."""
        tab, rng = self.tab(), self.rng
        found = [c.name for c in tab.columns if c.generated] or ["g"]
        one, other = rng.choice(found), self.col(tab).name
        number = f"{other} * {rng.randrange(5)}"
        return rng.choice(
            [
                f"ALTER TABLE {tab.name} ALTER {one} SET EXPRESSION AS ({rng.choice([number, f'{other}::text'])})",
                f"ALTER TABLE {tab.name} ALTER {one} DROP EXPRESSION",
                f"ALTER TABLE {tab.name} DROP {one}",
                f"ALTER TABLE {tab.name} DROP {other} CASCADE",
                f"ALTER TABLE {tab.name} DROP {one}, DROP {other}",
                f"BEGIN; ALTER TABLE {tab.name} ALTER {one} SET EXPRESSION AS ({number}); ALTER TABLE {tab.name}"
                f" DROP {self.col(tab).name}; COMMIT",
            ]
        )


KINDS: dict[Callable[[OfKeys], str], int] = {
    OfKeys.create: 3,
    OfKeys.made_again: 4,
    OfKeys.key_goes: 3,
    OfKeys.key_comes: 5,
    OfKeys.key_again: 3,
    OfKeys.key_exchanged: 3,
    OfKeys.keys_move: 8,
    OfKeys.keys_pass_twice: 2,
    OfKeys.generated_comes: 4,
    OfKeys.generated_changes: 4,
    OfKeys.insert: 6,
}


class KeyRememberer(Rememberer):
    """As Rememberer."""

    words = OfKeys


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], KeyRememberer))
