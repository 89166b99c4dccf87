"""Random changes at both ends of two channels, there and back, with schema changes at quiet moments."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from tests.flow.both_directions.there_and_back import ANSWERS, Pair
from tests.support.replica import Replica

SHARED, OWN = 12, 1000
"""So many keys are written at both ends; each end has keys of its own behind so many of them."""
BIG = "(SELECT string_agg(md5(j || '-' || i), '') FROM generate_series(1, 200) j)"
TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v text, n numeric, changed bigint NOT NULL, site int NOT NULL)",
    f"INSERT INTO t SELECT i, 'v' || i, i, 0, 0 FROM generate_series(1, {SHARED}) i",
    "CREATE TABLE p (a int, b text, big text, c text, changed bigint NOT NULL, site int NOT NULL, PRIMARY KEY (b, a))",
    f"INSERT INTO p SELECT i, 'b' || i % 3, {BIG}, 'c', 0, 0 FROM generate_series(1, {SHARED}) i",
)
CONFLICTS = {"conflicts": [{"tables": "*", **ANSWERS}]}
KEYS = {"t": "id = {key}", "p": "a = {key} AND b = 'b{rest}'"}


@dataclass
class Writers:
    """Writers change rows at both ends.

    clock: the time of the last change; last: its end. columns: what each table has beside its key, by today's names.
    """

    pair: Pair
    random: random.Random
    clock: int = 0
    last: int = -1
    done: Counter[str] = field(default_factory=Counter)
    columns: dict[str, list[str]] = field(default_factory=lambda: {"t": ["v"], "p": ["big", "c"]})

    def write(self, changes: int) -> None:
        """Make so many changes, in transactions of a few at either end."""
        self.clock, self.last = self.clock + 1, -1
        while changes > 0:
            number, some = self.random.randint(0, 1), self.random.randint(1, min(5, changes))
            statements = [self._change(number) for _ in range(some)]
            self._ends()[number].at_source(f"BEGIN; {'; '.join(statements)}; COMMIT")
            changes -= some

    def alter(self) -> None:
        """Change the shape of a table at one end; both channels bring rows of before first, and the change then."""
        self.pair.turns(2)
        table = self.random.choice(list(self.columns))
        names, name = self.columns[table], f"x{self.clock}"
        what = self.random.choice(["ADD", "RENAME", "DROP"] if len(names) > 1 else ["ADD", "RENAME"])
        if what == "ADD":
            statement = f"ADD COLUMN {name} text DEFAULT '{name}'"
            names.append(name)
        elif what == "RENAME":
            statement = f"RENAME COLUMN {names[-1]} TO {name}"
            names[-1] = name
        else:
            statement = f"DROP COLUMN {names.pop(0)}"
        self.random.choice(self._ends()).at_source(f"ALTER TABLE {table} {statement}")
        self.done[what] += 1
        self.pair.turns(2)

    def _ends(self) -> tuple[Replica, Replica]:
        return self.pair.there, self.pair.back

    def _change(self, site: int) -> str:
        """Return one statement. Its time grows; both ends may have the same, and the number of the end decides."""
        self.clock += 1 if self.last == site else self.random.randint(0, 1)
        self.last = site
        table = self.random.choice(list(self.columns))
        is_shared = self.random.random() < 0.7
        key = self.random.randint(1, SHARED) if is_shared else OWN * (1 + site) + self.random.randint(1, 99)
        where = KEYS[table].format(key=key, rest=key % 3)
        names = self.random.sample(self.columns[table], self.random.randint(1, len(self.columns[table])))
        values = {name: f"'{self.random.randint(0, 99)}'" for name in names}
        values |= {"changed": f"{self.clock}", "site": f"{site}"}
        kind = self.random.choice(["INSERT", "UPDATE", "UPDATE", "DELETE"])
        self.done[kind] += 1
        if kind == "DELETE":
            return f"DELETE FROM {table} WHERE {where}"
        if kind == "UPDATE":
            return f"UPDATE {table} SET {', '.join(f'{c} = {v}' for c, v in values.items())} WHERE {where}"
        ids = {"id": f"{key}"} if table == "t" else {"a": f"{key}", "b": f"'b{key % 3}'"}
        values = {**ids, **values}
        return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(values.values())}) ON CONFLICT DO NOTHING"


def require_equal(pair: Pair) -> None:
    """Both ends have the same rows, and nothing is on its way any more."""
    pair.turns(2)
    for told in pair.turns(2):
        assert told.capture.rows == 0 and told.integrate.rows == {} and told.adapt.changes == {}, told.text()
    for table in KEYS:
        columns = ", ".join(sorted(row[0] for row in pair.there.rows(_COLUMNS.format(table=table))))
        first, second = pair.rows(f"SELECT {columns} FROM {table} ORDER BY {columns}")
        assert first == second, set(first) ^ set(second)
    pair.there.check_equal()


_COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped"
