"""Plays a history with many range types, whose multiranges have names of their own and are renamed, moved and used.

    python -m tests.histories.multiranges 18 1-100

goes back through such histories, as tests.histories.rewinds does.
"""

from __future__ import annotations

import sys

from tests.histories import histories
from tests.histories.rewinds import Rememberer
from tests.histories.row_statements import SCHEMAS, bare
from tests.histories.statements import Weights, Words
from tests.histories.type_statements import TYPE_NAMES

NAMES = [*TYPE_NAMES[:4], "many", "s2.many", '"m ""%s"']
CHANCE = 0.25


class OfMultiranges(Words):
    """Every few statements one about them."""

    types = "edrcm"

    def one(self, weights: Weights) -> str:
        if self.rng.random() >= CHANCE:
            return super().one(weights)
        if all(t.kind != "m" for t in self.seen.types):
            return self.range_type()
        return self.rng.choice([self.range_type, self.column_of_one, self.column_of_one, self.other_name])()

    def range_type(self) -> str:
        """Its multirange gets any name, also one that is in use; without one the server makes it of the range's."""
        rng = self.rng
        more = rng.choice(["", *[f", multirange_type_name = {rng.choice(NAMES)}"] * 2])
        return f"CREATE TYPE {rng.choice(NAMES)} AS RANGE (subtype = {rng.choice(['float8', 'text', 'timetz'])}{more})"

    def column_of_one(self) -> str:
        of = f"{self.typ('m').name}{self.rng.choice(['', '', '[]'])}"
        default = f" DEFAULT {self.seen.value(of)}" if self.rng.random() < 0.5 else ""
        return f"ALTER TABLE {self.tab().name} ADD m{self.rng.randrange(9)} {of}{default}"

    def other_name(self) -> str:
        rng, name = self.rng, self.typ("mr").name
        return rng.choice(
            [
                f"ALTER TYPE {name} RENAME TO {bare(rng.choice(NAMES))}",
                f"ALTER TYPE {name} SET SCHEMA {rng.choice(SCHEMAS)}",
                f"DROP TYPE {self.typ('r').name} CASCADE",
            ]
        )


class RangingRememberer(Rememberer):
    """As Rememberer."""

    words = OfMultiranges


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], RangingRememberer))
