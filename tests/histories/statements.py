"""Random statements about what a session sees. They may well be refused: then they are skipped."""

from __future__ import annotations

from collections.abc import Callable

from tests.histories.bulk_statements import Bulk
from tests.histories.row_statements import COLUMNS, SCHEMAS, bare, long

CHANGES = [
    *["int", "bigint", "smallint", "text", "varchar(3)", "varchar(30)", "varchar", "numeric", "numeric(4,1)"],
    *["numeric(9,4)", "timestamp", "timestamptz", "date", "float8", "jsonb", "char(3)", "time", "text[]"],
]
CONSTANTS = ["7", "'d'", "'2026-01-01'", "NULL", "0", "'{}'", "true"]
VOLATILE = ["random()", "gen_random_uuid()", "clock_timestamp()", "now()", "(random() * 9)::int", "md5(random()::text)"]


ENDS = ["COMMIT", "COMMIT", "ROLLBACK"]


Weights = dict[Callable[["Words"], str], int]


class Words(Bulk):
    """One statement after the other. types: the kinds of those that it uses, as `typtype` spells them."""

    types = "edrc"

    # -- tables

    def definition(self) -> str:
        rng, parts = self.rng, []
        shape = rng.choice(["pk", "pk", "pk", "pk2", "none", "unique", "identity"])
        if shape == "identity":
            parts.append(f"id int GENERATED {rng.choice(['ALWAYS', 'BY DEFAULT'])} AS IDENTITY PRIMARY KEY")
        else:
            key = " PRIMARY KEY" if shape == "pk" else " NOT NULL UNIQUE" if shape == "unique" else ""
            parts.append(f"id {rng.choice(['int', 'int', 'bigint', 'text', 'numeric'])}{key}")
        for name in rng.sample(COLUMNS[1:], rng.randrange(1, 4)):
            parts.append(f"{name} {self.type()}{self.default()}{rng.choice(['', '', '', ' NOT NULL'])}")
        if rng.random() < 0.12:
            parts.append(f"g text GENERATED ALWAYS AS ({self.generated()}) STORED")
        if shape == "pk2":
            parts.append(f"k int, PRIMARY KEY ({rng.choice(['id, k', 'k, id'])})")
        return f"({', '.join(parts)})"

    def generated(self) -> str:
        return self.rng.choice(["id::text || 'g'", "left(id::text, 1)", "upper(id::text)"])

    def default(self) -> str:
        rng = self.rng
        kind = rng.random()
        return (
            f" DEFAULT {rng.choice(CONSTANTS)}"
            if kind < 0.25
            else f" DEFAULT {rng.choice(VOLATILE)}"
            if kind < 0.33
            else ""
        )

    def create(self) -> str:
        how = self.rng.choice(["", "", "", "", "UNLOGGED ", "TEMP "]) if self.rng.random() < 0.4 else ""
        name = self.name() if how == "TEMP " else self.full()
        return f"CREATE {how}TABLE {name} {self.definition()}"

    def create_as(self) -> str:
        tab, rng = self.tab(), self.rng
        return rng.choice(
            [
                f"CREATE TABLE {self.full()} AS SELECT * FROM {tab.name}",
                f"SELECT * INTO {self.full()} FROM {tab.name}",
                f"CREATE TABLE {self.full()} (LIKE {tab.name} INCLUDING ALL)",
                f"CREATE TABLE {self.full()} AS SELECT i AS id, i::text AS a FROM generate_series(1, 4) i",
                f"CREATE TABLE {self.full()} (extra int) INHERITS ({tab.name})",
                f"CREATE TABLE {self.full()} OF {self.typ('c').name}",
                f"CREATE TABLE {self.full()} (LIKE {tab.name} INCLUDING ALL EXCLUDING CONSTRAINTS EXCLUDING INDEXES)",
                f"BEGIN; CREATE TABLE {self.full()} AS TABLE {tab.name} WITH NO DATA; COMMIT",
            ]
        )

    def drop(self) -> str:
        return f"DROP TABLE {self.tab().name}{self.rng.choice(['', ' CASCADE'])}"

    def again(self) -> str:
        tab = self.tab()
        return f"DROP TABLE {tab.name}; CREATE TABLE {tab.name} {self.definition()}"

    def rename(self) -> str:
        return f"ALTER TABLE {self.tab().name} RENAME TO {self.name()}"

    def swap_names(self) -> str:
        one, two = self.tab(), self.tab()
        a, b = bare(one.name), bare(two.name)
        schema_a, schema_b = one.name[: -len(a)], two.name[: -len(b)]
        return (
            f"ALTER TABLE {one.name} RENAME TO swap_tmp; ALTER TABLE {two.name} RENAME TO {a};"
            f" ALTER TABLE {schema_a}swap_tmp RENAME TO {b}"
            + (f"; ALTER TABLE {schema_b}{a} SET SCHEMA public" if self.rng.random() < 0.1 else "")
        )

    def move(self) -> str:
        return f"ALTER TABLE {self.tab().name} SET SCHEMA {self.rng.choice(SCHEMAS)}"

    def replace(self) -> str:
        """The way migrations rebuild a table: fill a copy, drop the old one, rename."""
        tab = self.tab()
        schema = tab.name[: -len(bare(tab.name))]
        return (
            f"CREATE TABLE {schema}tmp_new (LIKE {tab.name} INCLUDING ALL);"
            f" INSERT INTO {schema}tmp_new SELECT * FROM {tab.name};"
            f" DROP TABLE {tab.name}; ALTER TABLE {schema}tmp_new RENAME TO {bare(tab.name)}"
        )

    # -- columns

    def add_column(self) -> str:
        rng = self.rng
        kind = rng.random()
        tab = self.tab()
        if kind < 0.1:
            return f"ALTER TABLE {tab.name} ADD {self.column()} int GENERATED BY DEFAULT AS IDENTITY"
        if kind < 0.18:
            how = rng.choice(["STORED", "STORED", "VIRTUAL"])
            return f"ALTER TABLE {tab.name} ADD g text GENERATED ALWAYS AS ({self.generated()}) {how}"
        if kind < 0.24:
            return f"ALTER TABLE {tab.name} ADD {self.column()} {rng.choice(['serial', 'bigserial'])}"
        of = self.type()
        default = f" DEFAULT {self.seen.value(long(of))}" if rng.random() < 0.3 else self.default()
        more = rng.choice(["", "", "", " NOT NULL", " UNIQUE"])
        return f"ALTER TABLE {tab.name} ADD {self.column()} {of}{default}{more}"

    def drop_column(self) -> str:
        tab = self.tab()
        return f"ALTER TABLE {tab.name} DROP {self.col(tab).name}{self.rng.choice(['', ' CASCADE'])}"

    def column_again(self) -> str:
        tab = self.tab()
        c = self.col(tab)
        of = self.rng.choice([c.type, self.type()])
        if self.rng.random() < 0.5:
            return f"ALTER TABLE {tab.name} DROP {c.name}, ADD {c.name} {of}{self.default()}"
        return f"ALTER TABLE {tab.name} DROP {c.name}; ALTER TABLE {tab.name} ADD {c.name} {of}{self.default()}"

    def rename_column(self) -> str:
        tab = self.tab()
        return f"ALTER TABLE {tab.name} RENAME {self.col(tab).name} TO {self.column()}"

    def swap_columns(self) -> str:
        tab = self.tab()
        a, b = self.col(tab).name, self.col(tab).name
        return "; ".join(f"ALTER TABLE {tab.name} RENAME {x} TO {y}" for x, y in ((a, "swap_c"), (b, a), ("swap_c", b)))

    def alter_type(self) -> str:
        tab, rng = self.tab(), self.rng
        c, new = self.col(tab), rng.choice([*CHANGES, self.type()])
        using = rng.choice(["", "", f" USING {c.name}::{new}", f" USING {c.name}::text::{new}", " USING NULL"])
        if rng.random() < 0.1:
            using = f" USING ({c.name}::text || '1')::{new}"
        return f"ALTER TABLE {tab.name} ALTER {c.name} TYPE {new}{using}"

    def alter_many(self) -> str:
        tab, rng = self.tab(), self.rng
        parts = [
            self.rng.choice([self.alter_column, self.add_column, self.drop_column, self.alter_type])() for _ in range(4)
        ]
        prefix = f"ALTER TABLE {tab.name} "
        ours = [p[len(prefix) :] for p in parts if p.startswith(prefix) and ";" not in p]
        return prefix + ", ".join(ours) if len(ours) > 1 else rng.choice(parts)

    def alter_column(self) -> str:
        tab, rng = self.tab(), self.rng
        c = self.col(tab)
        what = rng.choice(
            [
                f"SET DEFAULT {rng.choice([*CONSTANTS, *VOLATILE])}", "DROP DEFAULT", "SET NOT NULL", "DROP NOT NULL",
                "ADD GENERATED BY DEFAULT AS IDENTITY", "DROP IDENTITY IF EXISTS", "DROP EXPRESSION IF EXISTS",
                "SET EXPRESSION AS (id::text || 'h')", "SET STORAGE EXTERNAL", "SET STATISTICS 10",
                "SET GENERATED ALWAYS", "SET DATA TYPE text COLLATE \"C\"",
            ]
        )  # fmt: skip
        return f"ALTER TABLE {tab.name} ALTER {c.name} {what}"

    # -- keys

    def key(self) -> str:
        tab, rng = self.tab(), self.rng
        cols = ", ".join(dict.fromkeys(self.col(tab).name for _ in range(rng.choice([1, 1, 2]))))
        known = rng.choice(tab.constraints) if tab.constraints else "a_pkey"
        index = rng.choice(tab.indexes) if tab.indexes else "a_pkey"
        return rng.choice(
            [
                f"ALTER TABLE {tab.name} ADD PRIMARY KEY ({cols})",
                f"ALTER TABLE {tab.name} ADD UNIQUE ({cols})",
                f"ALTER TABLE {tab.name} ADD UNIQUE ({cols}) DEFERRABLE INITIALLY DEFERRED",
                f"CREATE UNIQUE INDEX ON {tab.name} ({cols})",
                f"CREATE UNIQUE INDEX ON {tab.name} ({cols}) WHERE {self.col(tab).name} IS NOT NULL",
                f"ALTER TABLE {tab.name} DROP CONSTRAINT {known} CASCADE",
                f"ALTER TABLE {tab.name} DROP CONSTRAINT {known}, ADD PRIMARY KEY ({cols})",
                f"ALTER TABLE {tab.name} REPLICA IDENTITY {rng.choice(['FULL', 'DEFAULT', f'USING INDEX {index}'])}",
                f"ALTER TABLE {tab.name} ADD FOREIGN KEY ({cols}) REFERENCES {self.tab().name} ON DELETE CASCADE",
                f"ALTER TABLE {tab.name} ADD CHECK ({self.col(tab).name} IS NOT NULL) NOT VALID",
                f"ALTER TABLE {tab.name} SET {rng.choice(['LOGGED', 'UNLOGGED', '(fillfactor = 80)'])}",
                f"ALTER TABLE {tab.name} RENAME CONSTRAINT {known} TO renamed_{rng.randrange(99)}",
                f"ALTER TABLE {tab.name} ADD PRIMARY KEY USING INDEX {index}",
                f"ALTER TABLE {tab.name} ADD UNIQUE NULLS NOT DISTINCT ({cols})",
                f"CREATE UNIQUE INDEX ON {tab.name} ({cols}) INCLUDE ({self.col(tab).name})",
                f"ALTER INDEX {tab.name.removesuffix(bare(tab.name))}{index} RENAME TO renamed_{rng.randrange(99)}",
                f"DROP INDEX {tab.name.removesuffix(bare(tab.name))}{index}",
                f"CLUSTER {tab.name} USING {index}",
            ]
        )

    # -- the rest

    def other(self) -> str:
        rng, tab = self.rng, self.tab()
        schema = rng.choice(SCHEMAS)
        return rng.choice(
            [
                f"SET timezone = '{rng.choice(['Asia/Kolkata', 'UTC', 'America/New_York'])}'",
                f"SET search_path = {rng.choice(['s2, public', 'public', 'pg_catalog'])}",
                f"SET datestyle = '{rng.choice(['German', 'ISO, MDY', 'SQL, DMY'])}'",
                f"ALTER SCHEMA {schema} RENAME TO {rng.choice(['s3', 's2'])}",
                f"CREATE SCHEMA {schema}",
                f"DROP SCHEMA {rng.choice(['s2', 's3'])} CASCADE",
                f"CREATE VIEW v{rng.randrange(9)} AS SELECT * FROM {tab.name}",
                f"COMMENT ON TABLE {tab.name} IS 'x'",
                f"VACUUM FULL {tab.name}",
                f"ALTER TABLE {tab.name} ENABLE ROW LEVEL SECURITY",
                f"CREATE INDEX ON {tab.name} ({self.col(tab).name})",
                "CREATE EXTENSION IF NOT EXISTS citext",
                f"LOCK TABLE {tab.name}",
                f"DROP VIEW IF EXISTS v{rng.randrange(9)}",
            ]
        )

    def wrapped(self) -> str:
        """The same from within a DO block, a function, or a block with an exception handler."""
        rng = self.rng
        inner = [self.one(WEIGHTS) for _ in range(rng.choice([1, 2, 3]))]
        parts = [f"EXECUTE $q${part}$q$;" for part in inner if not part.startswith("COPY")]
        calls, ended = " ".join(parts), f" {rng.choice(ENDS)}; ".join([*parts, ""])
        made = "CREATE OR REPLACE FUNCTION mk() RETURNS void LANGUAGE plpgsql AS"
        return rng.choice(
            [
                f"DO $do$ BEGIN {calls} END $do$",
                f"DO $do$ BEGIN BEGIN {calls} EXCEPTION WHEN OTHERS THEN NULL; END; END $do$",
                f"DO $do$ BEGIN BEGIN {calls} RAISE 'back'; EXCEPTION WHEN OTHERS THEN NULL; END; END $do$",
                f"DO $do$ BEGIN {ended} END $do$",
                f"{made} $do$ BEGIN {calls} END $do$; SELECT mk()",
                "; ".join(part for part in inner if not part.startswith("COPY")),
            ]
        )

    def one(self, weights: Weights) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0](self)


WEIGHTS: Weights = {
    Words.insert: 26, Words.update: 16, Words.delete: 6, Words.swap_keys: 2, Words.truncate: 2, Words.copy_rows: 1,
    Words.create: 6, Words.create_as: 3, Words.drop: 2, Words.again: 2, Words.rename: 3, Words.swap_names: 2,
    Words.move: 2, Words.replace: 1, Words.add_column: 8, Words.drop_column: 3, Words.column_again: 2,
    Words.rename_column: 3, Words.swap_columns: 2, Words.alter_type: 7, Words.alter_many: 2, Words.alter_column: 5,
    Words.key: 7, Words.create_type: 4, Words.alter_type_definition: 5, Words.use_type: 4, Words.partitioned: 3,
    Words.partition: 8, Words.other: 3, Words.upsert: 3, Words.merge: 3, Words.copy_in: 3, Words.large: 2,
    Words.toast: 6, Words.move_rows: 3, Words.truncate_variants: 2, Words.trigger: 1,
}  # fmt: skip
ALL = {**WEIGHTS, Words.wrapped: 9}
SETUP: Weights = {
    Words.create: 8,
    Words.insert: 6,
    Words.create_type: 3,
    Words.partitioned: 2,
    Words.partition: 3,
    Words.use_type: 1,
}
