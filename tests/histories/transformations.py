"""Plays a history on a channel whose targets get values of some columns by a function, which gives them as they are.

python -m tests.histories.transformations 18 1-100
"""

from __future__ import annotations

import random
import sys
from collections.abc import Collection, Mapping
from typing import Any

import psycopg

from tests.histories import histories
from tests.histories.equality import ALL_ROWS, Name
from tests.histories.restrictions import Restricting, Said, quoted

PLAIN = """
SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attgenerated = '' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid
        AND a.attnum = ANY (i.indkey::int2[])) ORDER BY a.attnum
"""


class Transforming(Restricting):
    """Every few acts of the channel its file changes. What asks for the impossible is taken back."""

    action = "transform"
    impossible: Collection[str] = ("ADP-149", "ADP-154", "ADP-155", "ADP-157", "INT-112")

    def rows(self, said: Said) -> Mapping[Name, str]:
        return ALL_ROWS

    def entry(
        self, connection: psycopg.Connection[Any], table: int, columns: list[tuple[str, str]], rng: random.Random
    ) -> dict[str, Any]:
        plain = [name for (name,) in connection.execute(PLAIN, [table])]
        if not plain or rng.random() >= 0.8:
            return {}
        given = rng.sample(plain, rng.randint(1, len(plain)))
        reads = {} if rng.random() < 0.5 else {"reads": quoted(given[0])}
        names = [quoted(name) for name in given]
        return {"function": "tests.support.value_functions:same", "columns": names, "version": str(self.acts), **reads}


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Transforming))
