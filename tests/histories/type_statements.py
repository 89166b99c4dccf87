"""Random statements about types and partitions."""

from __future__ import annotations

from tests.histories.row_statements import SCHEMAS, Rows, bare

TYPE_NAMES = ["mood", "pos", "addr", "s2.mood", '"Ty %s"', "kind2"]


class TypesAndPartitions(Rows):
    """What tables are made of, and what they are parts of."""

    # -- types

    def create_type(self) -> str:
        rng, name = self.rng, self.rng.choice(TYPE_NAMES)
        base = rng.choice(["int CHECK (VALUE >= -1)", "varchar(9)", "numeric(8,2) DEFAULT 3", "int"])
        return rng.choice(
            [
                f"CREATE TYPE {name} AS ENUM ('x', 'y', 'it''s', 'Ü')",
                f"CREATE TYPE {name} AS ENUM ('y', 'x')",
                f"CREATE DOMAIN {name} AS {base}",
                f"CREATE TYPE {name} AS (street text, no int, {self.column()} {self.type()})",
                f"CREATE TYPE {name} AS RANGE (subtype = {rng.choice(['float8', 'text', 'timetz'])})",
                f"CREATE DOMAIN {name} AS {self.type()}",
            ]
        )

    def alter_type_definition(self) -> str:
        rng, enum, domain, made = self.rng, self.typ("e"), self.typ("d"), self.typ("c")
        label = rng.choice(enum.labels).replace("'", "''") if enum.labels else "x"
        attribute = rng.choice(made.attributes)[0] if made.attributes else "no"
        kind = self.typ("edcr")
        what = "DOMAIN" if kind.kind == "d" else "TYPE"
        if not self.seen.types:
            return self.create_type()
        place = rng.choice(["", f" BEFORE '{label}'"])
        option = rng.choice(["SET NOT NULL", "DROP NOT NULL", "SET DEFAULT 4", "DROP DEFAULT"])
        changes = [
            f"ALTER TYPE {enum.name} ADD VALUE 'v{rng.randrange(6)}'{place}",
            f"ALTER TYPE {enum.name} RENAME VALUE '{label}' TO 'r{rng.randrange(6)}'",
            f"ALTER {what} {kind.name} RENAME TO {bare(rng.choice(TYPE_NAMES))}",
            f"ALTER {what} {kind.name} SET SCHEMA {rng.choice(SCHEMAS)}",
            f"ALTER DOMAIN {domain.name} ADD CHECK (VALUE IS DISTINCT FROM {rng.randrange(12)})",
            f"ALTER DOMAIN {domain.name} {option}",
            f"ALTER DOMAIN {domain.name} DROP CONSTRAINT {bare(domain.name)}_check",
            f"ALTER TYPE {made.name} ADD ATTRIBUTE {self.column()} {self.type()} CASCADE",
            f"ALTER TYPE {made.name} DROP ATTRIBUTE {attribute} CASCADE",
            f"ALTER TYPE {made.name} RENAME ATTRIBUTE {attribute} TO {self.column()} CASCADE",
            f"DROP {what} {kind.name}{rng.choice(['', ' CASCADE'])}",
        ]
        fits = {"e": changes[:4], "d": changes[2:7], "c": changes[2:4] + changes[7:], "r": changes[2:4] + changes[-1:]}
        return rng.choice(fits[kind.kind] if rng.random() < 0.9 else changes[-1:])

    def use_type(self) -> str:
        if not self.seen.types:
            return self.create_type()
        return f"ALTER TABLE {self.tab().name} ADD {self.column()} {self.typ('edcr').name}{self.rng.choice(['', '[]'])}"

    # -- partitions

    def partitioned(self) -> str:
        rng = self.rng
        how = rng.choice(["LIST (k)", "LIST (k)", "RANGE (k)", "HASH (k)"])
        key = rng.choice([", PRIMARY KEY (id, k)", ", PRIMARY KEY (id, k)", ""])
        return f"CREATE TABLE {self.full()} (id int, k int, v {self.type()}{key}) PARTITION BY {how}"

    def bound(self) -> str:
        rng = self.rng
        low = rng.choice([0, 3, 6, 9])
        return rng.choice(
            [
                "DEFAULT", f"FOR VALUES IN ({low}, {low + 1}, {low + 2})", f"FOR VALUES FROM ({low}) TO ({low + 3})",
                f"FOR VALUES WITH (MODULUS 2, REMAINDER {rng.randrange(2)})",
            ]
        )  # fmt: skip

    def partition(self) -> str:
        rng, parent = self.rng, self.tab("p")
        if parent.kind != "p":
            return self.partitioned()
        parts = [t for t in self.seen.tables if t.is_partition]
        part = rng.choice(parts) if parts else self.tab()
        detach = f"ALTER TABLE {part.parent} DETACH PARTITION {part.name}"
        sub = rng.choice(["", "", "", "", " PARTITION BY LIST (k)"])
        return rng.choice(
            [
                f"CREATE TABLE {self.full()} PARTITION OF {parent.name} {self.bound()}{sub}",
                f"CREATE TABLE {self.full()} PARTITION OF {parent.name} {self.bound()}{sub}",
                f"CREATE TABLE {self.full()} (LIKE {parent.name} INCLUDING DEFAULTS)",
                f"ALTER TABLE {parent.name} ATTACH PARTITION {self.tab('r').name} {self.bound()}",
                detach,
                f"{detach}; ALTER TABLE {part.parent} ATTACH PARTITION {part.name} {self.bound()}",
                f"UPDATE {parent.name} SET k = k + {rng.choice([3, -3, 1])}",
                f"TRUNCATE {part.name}",
                self.attached(parent.name),
                f"DROP TABLE {part.name}",
            ]
        )

    def attached(self, parent: str) -> str:
        """A table with rows becomes a partition: they come into the parent without a record of their own."""
        made, low = self.full(), self.rng.choice([0, 3, 6, 9])
        return (
            f"CREATE TABLE {made} (LIKE {parent} INCLUDING ALL);"
            f" INSERT INTO {made} (id, k) SELECT i, {low} FROM generate_series(1, 3) i;"
            f" ALTER TABLE {parent} ATTACH PARTITION {made} {self.bound()}"
        )
