"""Choosing from what a session sees, and statements about rows."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod

from tests.histories.catalog import Col, Seen, Tab, Typ

SCHEMAS = ["public", "s2", '"S p%s"']
NAMES = ["a", "b", "c", "d", '"T ""x; %s"', '"ünï→"', "n" + "x" * 62]
COLUMNS = ["id", "a", "b", "c", '"x y"', '"Ä%s"', '"q""t"', "z" * 63]
TYPES = [
    *["int", "int", "bigint", "smallint", "text", "text", "varchar(5)", "varchar(20)", "char(3)", "numeric"],
    *["numeric(6,2)", "boolean", "date", "time", "timestamp", "timestamptz", "interval", "uuid", "jsonb", "json"],
    *["bytea", "inet", "float8", "real", "int[]", "text[]", "int4range", "tstzrange", "bit(3)"],
]


class Rows(ABC):
    """All choices come from `rng`."""

    def __init__(self, rng: random.Random, seen: Seen) -> None:
        self.rng = rng
        self.seen = seen

    @abstractmethod
    def create(self) -> str:
        """A statement that makes a table."""

    # -- picking

    def tab(self, kinds: str = "rp") -> Tab:
        found = [t for t in self.seen.tables if t.kind in kinds]
        return self.rng.choice(found) if found else Tab("public.a", "r", False, (), (), (), None)

    def col(self, tab: Tab) -> Col:
        return self.rng.choice(tab.columns) if tab.columns else Col("a", "integer", "", "", False, "b")

    def plain_cols(self, tab: Tab) -> list[Col]:
        return [c for c in tab.columns if not c.generated]

    def typ(self, kind: str) -> Typ:
        found = [t for t in self.seen.types if t.kind in kind]
        return self.rng.choice(found) if found else Typ("mood", kind[0], (), (), None)

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def full(self) -> str:
        return f"{self.rng.choice(SCHEMAS[:1] * 3 + SCHEMAS)}.{self.name()}"

    def column(self) -> str:
        return self.rng.choice(COLUMNS)

    def type(self) -> str:
        own = [t.name for t in self.seen.types]
        if own and self.rng.random() < 0.25:
            return self.rng.choice(own) + self.rng.choice(["", "", "", "[]"])
        return self.rng.choice(TYPES)

    def where(self, tab: Tab) -> str:
        rng = self.rng
        if rng.random() < 0.5 and tab.columns:
            c = self.col(tab)
            if c.type in ("integer", "bigint", "smallint"):
                return f"{c.name} {rng.choice(['=', '<', '>', '<>'])} {rng.randrange(9)}"
        if rng.random() < 0.15:
            return "true"
        if tab.kind == "p":
            return f"id::text IN (SELECT id::text FROM {tab.name} x ORDER BY 1 LIMIT {rng.randrange(1, 4)})"
        return f"ctid IN (SELECT ctid FROM {tab.name} x ORDER BY x::text LIMIT {rng.randrange(1, 4)})"

    # -- rows

    def insert(self) -> str:
        tab, rng = self.tab(), self.rng
        cols = [
            c
            for c in self.plain_cols(tab)
            if not (c.identity and rng.random() < 0.7) and (c.not_null or rng.random() < 0.9)
        ]
        tail = rng.choice(["", " ON CONFLICT DO NOTHING", " ON CONFLICT DO NOTHING"])
        if not tab.columns:
            return self.create()
        if not cols:
            return f"INSERT INTO {tab.name} DEFAULT VALUES"
        names = ", ".join(c.name for c in cols)
        over = " OVERRIDING SYSTEM VALUE" if any(c.identity for c in cols) else ""
        if rng.random() < 0.25:
            values = ", ".join(
                f"(i + {rng.randrange(30)})" if c.type in ("integer", "bigint") else self.seen.value(c.type)
                for c in cols
            )
            series = f"generate_series(1, {rng.randrange(2, 9)})"
            return f"INSERT INTO {tab.name} ({names}){over} SELECT {values} FROM {series} i{tail}"
        rows = ", ".join(
            "(" + ", ".join(self.seen.value(c.type) for c in cols) + ")" for _ in range(rng.randrange(1, 4))
        )
        return f"INSERT INTO {tab.name} ({names}){over} VALUES {rows}{tail}"

    def update(self) -> str:
        tab, rng = self.tab(), self.rng
        cols = self.plain_cols(tab) or [Col("a", "integer", "", "", False, "b")]
        parts = []
        for c in rng.sample(cols, min(len(cols), rng.choice([1, 1, 2]))):
            number = c.type in ("integer", "bigint", "smallint", "numeric")
            new = f"{c.name} + {rng.choice([1, 10, -1])}" if number and rng.random() < 0.5 else self.seen.value(c.type)
            parts.append(f"{c.name} = {new}")
        return f"UPDATE {tab.name} SET {', '.join(parts)} WHERE {self.where(tab)}"

    def delete(self) -> str:
        tab = self.tab()
        return f"DELETE FROM {tab.name} WHERE {self.where(tab)}"

    def swap_keys(self) -> str:
        tab = self.tab()
        ints = [c for c in self.plain_cols(tab) if c.type in ("integer", "bigint")]
        c = self.rng.choice(ints).name if ints else "id"
        one, two = self.rng.sample(range(1, 8), 2)
        moves = ((one, -77), (two, one), (-77, two))
        return "; ".join(f"UPDATE {tab.name} SET {c} = {y} WHERE {c} = {x}" for x, y in moves)

    def truncate(self) -> str:
        many = ", ".join(dict.fromkeys(self.tab().name for _ in range(self.rng.choice([1, 1, 2]))))
        return f"TRUNCATE {many}{self.rng.choice(['', ' RESTART IDENTITY', ' CASCADE'])}"

    def copy_rows(self) -> str:
        one, two = self.tab(), self.tab()
        return f"INSERT INTO {one.name} SELECT * FROM {two.name} ON CONFLICT DO NOTHING"


def bare(name: str) -> str:
    """The name without its schema; both may be quoted."""
    quoted, start = False, 0
    for place, letter in enumerate(name):
        quoted ^= letter == '"'
        if letter == "." and not quoted:
            start = place + 1
    return name[start:]


def long(of: str) -> str:
    """As format_type spells it."""
    short = {"int": "integer", "float8": "double precision", "timestamptz": "timestamp with time zone"}
    short |= {"timestamp": "timestamp without time zone", "time": "time without time zone"}
    return short.get(
        of, of.replace("varchar", "character varying").replace("char(", "character(") if "char" in of else of
    )
