"""Plays a history of tables that leave the stream and come back: unlogged, without a key, with generated columns.

    python -m tests.histories.left_out 18 1-100

`KINDS` are the statements, with their weights; keys and generated columns are those of tests.histories.keys.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.histories import histories
from tests.histories.keys import OfKeys
from tests.histories.player import Player
from tests.histories.rewinds import Rememberer
from tests.histories.statements import Weights

CHANCE = 0.35


class OfLeaving(OfKeys):
    """Every few statements one of `KINDS`."""

    def one(self, weights: Weights) -> str:
        if self.rng.random() >= CHANCE:
            return super().one(weights)
        return self.rng.choices(list(KINDS), list(KINDS.values()))[0](self)

    def unlogged(self) -> str:
        """Said in other ways, too, and beside other tables."""
        tab, rng = self.tab(), self.rng
        identity = f", ALTER COLUMN {self.col(tab).name} ADD GENERATED ALWAYS AS IDENTITY"
        return rng.choice(
            [
                f"ALTER TABLE {tab.name} SET UNLOGGED",
                f"alter table if exists only {tab.name} set  unlogged",
                f"ALTER TABLE {tab.name} SET UNLOGGED{identity}",
                f"ALTER TABLE {self.tab().name} ADD u{rng.randrange(9)} int; ALTER TABLE {tab.name} SET UNLOGGED",
                f"DO $$ BEGIN ALTER TABLE {tab.name} SET UNLOGGED; END $$",
            ]
        )

    def logged(self) -> str:
        return f"ALTER TABLE {self.tab().name} SET LOGGED"

    def unlogged_for_a_load(self) -> str:
        tab = self.tab()
        rows = f"INSERT INTO {tab.name} (id) SELECT n FROM generate_series(20, 23) n"
        return f"BEGIN; ALTER TABLE {tab.name} SET UNLOGGED; {rows}; ALTER TABLE {tab.name} SET LOGGED; COMMIT"

    def keyless(self) -> str:
        sort = self.rng.choice(["STORED", "VIRTUAL"])
        g = f"g bigint GENERATED ALWAYS AS (a * {self.rng.randrange(1, 4)}) {sort}"
        return f"CREATE TABLE {self.full()} (id int, {g}, a int)"

    def heir(self) -> str:
        sort = self.rng.choice(["STORED", "VIRTUAL"])
        own = f"h bigint GENERATED ALWAYS AS (e + 1) {sort}, e int"
        return f"CREATE TABLE {self.full()} ({own}) INHERITS ({self.tab().name})"

    def identity(self) -> str:
        how = self.rng.choice(["DEFAULT", "NOTHING", "FULL"])
        return f"ALTER TABLE {self.tab().name} REPLICA IDENTITY {how}"


KINDS: dict[Callable[[OfLeaving], str], int] = {
    OfLeaving.unlogged: 4,
    OfLeaving.logged: 8,
    OfLeaving.unlogged_for_a_load: 2,
    OfLeaving.keyless: 3,
    OfLeaving.heir: 1,
    OfLeaving.identity: 2,
    OfLeaving.generated_comes: 3,
    OfLeaving.generated_changes: 2,
    OfLeaving.key_goes: 3,
    OfLeaving.key_comes: 4,
    OfLeaving.insert: 4,
    OfLeaving.keys_move: 3,
}


class Leaving(Player):
    """As Player."""

    words = OfLeaving


class LeavingRememberer(Rememberer):
    """As Rememberer."""

    words = OfLeaving


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Leaving))
