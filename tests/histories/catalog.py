"""What a session sees of the source right now, and SQL values of every type found there."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection

TABLES = """
SELECT c.oid::bigint, format('%I.%I', n.nspname, c.relname), c.relkind::text, c.relispartition, (
    SELECT coalesce(json_agg(json_build_array(quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
               a.attgenerated::text, a.attidentity::text, a.attnotnull, t.typtype::text) ORDER BY a.attnum), '[]')
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), (
    SELECT coalesce(json_agg(quote_ident(k.conname) ORDER BY k.conname), '[]') FROM pg_constraint k
    WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f', 'c')), (
    SELECT coalesce(json_agg(format('%I', x.relname) ORDER BY x.relname), '[]') FROM pg_index i
    JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid AND i.indisunique), (
    SELECT format('%I.%I', pn.nspname, p.relname) FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent
    JOIN pg_namespace pn ON pn.oid = p.relnamespace WHERE h.inhrelid = c.oid LIMIT 1)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'ddlrepl', 'pg_toast')
  AND n.nspname NOT LIKE 'pg\\_%temp\\_%'
ORDER BY n.nspname, c.relname
"""
TYPES = """
SELECT format_type(t.oid, NULL), t.typtype::text,
    (SELECT coalesce(json_agg(l.enumlabel ORDER BY l.enumsortorder), '[]') FROM pg_enum l WHERE l.enumtypid = t.oid),
    (SELECT coalesce(json_agg(json_build_array(quote_ident(a.attname), format_type(a.atttypid, a.atttypmod))
                              ORDER BY a.attnum), '[]')
     FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped),
    CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) END
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_class c ON c.oid = t.typrelid
WHERE (t.typtype IN ('e', 'd', 'r', 'm') OR (t.typtype = 'c' AND c.relkind = 'c'))
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'ddlrepl') AND n.nspname NOT LIKE 'pg\\_toast%'
ORDER BY n.nspname, t.typname
"""
TEXTS = [
    "",
    " ",
    "a",
    "B",
    "ß→",
    "%s %d %%",
    "it''s",
    '"',
    "\\\\N",
    ";--",
    "{}",
    "NULL",
    "tab\\tx",
    "0",
    "1.50",
    "x" * 40,
]
FIXED = {
    "boolean": ["true", "false"],
    "date": ["'2026-02-28'", "'0044-03-15 BC'", "'infinity'", "'1999-12-31'"],
    "time without time zone": ["'00:00'", "'24:00'", "'12:34:56.789012'"],
    "timestamp without time zone": ["'2026-03-29 02:30'", "'infinity'", "'1970-01-01'", "'2026-10-25 01:59:59.999999'"],
    "timestamp with time zone": ["'2026-03-29 02:30+05:45'", "'-infinity'", "'1970-01-01Z'", "now()"],
    "interval": ["'1 mon -3 days 00:00:00.5'", "'0'", "'-1 year'"],
    "uuid": ["'00000000-0000-0000-0000-000000000001'", "gen_random_uuid()", "md5('x')::uuid"],
    "jsonb": ["""'{"a": [1, null, "ü"]}'""", "'null'", """'"x"'""", "'{}'"],
    "json": ["""'{"b" : 1,"b":2}'""", "'[]'"],
    "bytea": ["''", "'\\x00ff'", "'\\xdeadbeef'"],
    "inet": ["'10.0.0.1/8'", "'::1'", "'192.168.0.1'"],
    "double precision": ["0.1", "'NaN'", "'-Infinity'", "1e300", "random()"],
    "real": ["0.1", "'NaN'", "3e38"],
    "int4range": ["'[1,5)'", "'empty'", "'(,)'"],
    "tstzrange": ["'[2026-01-01 00:00+00,2026-02-01 00:00+00)'", "'empty'"],
    "bit(3)": ["B'101'", "B'000'"],
    "money": ["'1.50'"],
}  # fmt: skip


@dataclass(frozen=True)
class Col:
    name: str
    type: str
    generated: str
    identity: str
    not_null: bool
    typtype: str


@dataclass(frozen=True)
class Tab:
    name: str
    kind: str
    is_partition: bool
    columns: tuple[Col, ...]
    constraints: tuple[str, ...]
    indexes: tuple[str, ...]
    parent: str | None


@dataclass(frozen=True)
class Typ:
    name: str
    kind: str
    labels: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    base: str | None


def rng_of(rng: random.Random, name: str) -> str:
    """Of a range type over anything."""
    return f"'{rng.choice(['empty', '(,)'])}'::{name}"


@dataclass
class Seen:
    """Tables and types as one session sees them; `value` spells a value of a type."""

    rng: random.Random
    tables: list[Tab] = field(default_factory=list)
    types: list[Typ] = field(default_factory=list)

    @classmethod
    def by(cls, connection: Connection[Any], rng: random.Random, kinds: str = "edrc") -> Seen:
        """kinds: of types, as `typtype` spells them."""
        tables = [
            Tab(name, kind, bool(part), tuple(Col(*c) for c in columns), tuple(constraints), tuple(indexes), parent)
            for _, name, kind, part, columns, constraints, indexes, parent in connection.execute(TABLES)
        ]
        types = [
            Typ(name, kind, tuple(labels), tuple((a, t) for a, t in attributes), base)
            for name, kind, labels, attributes, base in connection.execute(TYPES)
            if kind in kinds
        ]
        return cls(rng, tables, types)

    def value(self, of: str, depth: int = 0) -> str:
        if self.rng.random() < 0.1:
            return "NULL"
        return self._value(of, depth)

    def _value(self, of: str, depth: int) -> str:
        rng, plain = self.rng, of.split("(")[0]
        if of.endswith("[]"):
            items = ", ".join(self.value(of[:-2], depth + 1) for _ in range(rng.randrange(4)))
            return f"ARRAY[{items}]::{of}"
        if of in FIXED or plain in FIXED:
            return rng.choice(FIXED.get(of) or FIXED[plain])
        if plain in ("integer", "bigint", "smallint"):
            return str(rng.randrange(12) if rng.random() < 0.9 else rng.choice([-32768, 32767, -1]))
        if plain == "numeric":
            return rng.choice(["0", "1.5", "1.50", "'NaN'", "-3.14159", "99", str(rng.randrange(12))])
        if plain in ("text", "character varying", "character"):
            return self._text(of)
        known = next((t for t in self.types if t.name == of), None)
        return self._own(known, depth) if known and depth < 4 else "NULL"

    def _text(self, of: str) -> str:
        rng = self.rng
        if of == "text" and rng.random() < 0.12:
            return f"(SELECT string_agg(md5({rng.randrange(99)}::text || i), '') FROM generate_series(1, 250) i)"
        found = rng.choice(TEXTS)
        return f"E'{found}'" if rng.random() < 0.6 else f"'{rng.randrange(12)}'"

    def _own(self, of: Typ, depth: int) -> str:
        if of.kind == "e":
            label = self.rng.choice(of.labels).replace("'", "''") if of.labels else ""
            return f"'{label}'::{of.name}"
        if of.kind == "r":
            return rng_of(self.rng, of.name)
        if of.kind == "m":
            return f"'{self.rng.choice(['{}', '{(,)}', '{empty}'])}'::{of.name}"
        if of.kind == "d":
            return f"({self._value(of.base or 'text', depth + 1)})::{of.name}"
        parts = ", ".join(self.value(t, depth + 1) for _, t in of.attributes)
        return f"ROW({parts})::{of.name}"
