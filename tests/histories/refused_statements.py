"""Random statements that a target may refuse to follow."""

from __future__ import annotations

from collections.abc import Callable

from tests.histories.statements import Weights, Words

CHANCE = 0.3


class OfRefusals(Words):
    """Every few statements one of `KINDS`."""

    def one(self, weights: Weights) -> str:
        if self.rng.random() >= CHANCE:
            return super().one(weights)
        return self.rng.choices(list(KINDS), list(KINDS.values()))[0](self)

    def computed(self) -> str:
        """With a function that the targets may not have yet."""
        tab, how = self.tab(), "text GENERATED ALWAYS AS (public.computed({}::text)) STORED"
        added = f"ALTER TABLE {tab.name} ADD g {how.format(self.col(tab).name)}"
        return self.rng.choice([added, f"CREATE TABLE {self.full()} (id int PRIMARY KEY, g {how.format('id')})"])

    def foreign_key(self) -> str:
        one, other = self.tab(), self.tab()
        column = self.col(one).name
        return f"ALTER TABLE {one.name} ADD FOREIGN KEY ({column}) REFERENCES {other.name} ON DELETE CASCADE"


KINDS: dict[Callable[[OfRefusals], str], int] = {
    OfRefusals.insert: 10,
    OfRefusals.update: 5,
    OfRefusals.computed: 1,
    OfRefusals.foreign_key: 2,
    OfRefusals.partition: 4,
    OfRefusals.add_column: 2,
    OfRefusals.drop_column: 2,
    OfRefusals.rename: 2,
    OfRefusals.alter_type: 2,
}
OF_REFUSED: dict[Callable[[OfRefusals], str], int] = {
    OfRefusals.insert: 8,
    OfRefusals.update: 6,
    OfRefusals.delete: 1,
    OfRefusals.add_column: 1,
    OfRefusals.alter_type: 1,
    OfRefusals.rename: 1,
    OfRefusals.swap_names: 1,
    OfRefusals.again: 1,
}


def about_refused(words: OfRefusals) -> str:
    """A statement about a table whose rows a target refuses."""
    return words.rng.choices(list(OF_REFUSED), list(OF_REFUSED.values()))[0](words)
