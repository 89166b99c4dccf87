"""Random statements that write many rows, or write them in another way than INSERT, UPDATE and DELETE."""

from __future__ import annotations

from tests.histories.catalog import Col, Tab
from tests.histories.type_statements import TypesAndPartitions

INTEGERS = ("integer", "bigint", "smallint")
LONG = "(SELECT string_agg(md5({}::text || i), '') FROM generate_series(1, {}) i)"


class Bulk(TypesAndPartitions):
    """COPY, MERGE, ON CONFLICT DO UPDATE, values out of line, large transactions, rows that move between tables."""

    def upsert(self) -> str:
        tab, rng = self.tab(), self.rng
        cols = [c for c in self.plain_cols(tab) if not c.identity]
        if not cols:
            return self.insert()
        names = ", ".join(c.name for c in cols)
        rows = ", ".join(
            "(" + ", ".join(self.seen.value(c.type) for c in cols) + ")" for _ in range(rng.randrange(1, 4))
        )
        changed = rng.choice(cols).name
        new = rng.choice([f"EXCLUDED.{changed}", f"EXCLUDED.{changed}", self.seen.value(rng.choice(cols).type)])
        known = rng.choice(tab.constraints) if tab.constraints else "a_pkey"
        return (
            f"INSERT INTO {tab.name} AS t ({names}) VALUES {rows}"
            f" ON CONFLICT ON CONSTRAINT {known} DO UPDATE SET {changed} = {new}"
        )

    def merge(self) -> str:
        tab, rng = self.tab(), self.rng
        number = next((c for c in self.plain_cols(tab) if c.type in INTEGERS), Col("id", "integer", "", "", False, "b"))
        changed = rng.choice(self.plain_cols(tab) or [number])
        matched = rng.choice(["DELETE", f"UPDATE SET {changed.name} = {self.seen.value(changed.type)}"])
        return (
            f"MERGE INTO {tab.name} t USING generate_series(1, {rng.randrange(2, 9)}) i ON t.{number.name} = i"
            f" WHEN MATCHED AND i % 2 = 0 THEN {matched}"
            f" WHEN MATCHED THEN UPDATE SET {number.name} = t.{number.name} + 100"
            f" WHEN NOT MATCHED THEN INSERT ({number.name}) VALUES (i)"
        )

    def copy_in(self) -> str:
        """COPY: the rows stand on the lines after the command."""
        tab, rng = self.tab(), self.rng
        cols = [c for c in self.plain_cols(tab) if c.type in (*INTEGERS, "text", "numeric") or c.not_null]
        if not cols:
            return self.copy_rows()
        start = rng.randrange(60)
        rows = ["\t".join(self._copied(c, start + i) for c in cols) for i in range(rng.choice([1, 3, 40]))]
        return f"COPY {tab.name} ({', '.join(c.name for c in cols)}) FROM STDIN\n" + "".join(f"{r}\n" for r in rows)

    def _copied(self, column: Col, number: int) -> str:
        if column.type in INTEGERS or (column.name == "id" and self.rng.random() < 0.9):
            return str(number)
        return (
            self.rng.choice(["7", "\\N", "7", "1.50"]) if column.type == "numeric" else self.rng.choice(["", "ß", "7"])
        )

    def large(self) -> str:
        """A few thousand changes by one statement or transaction."""
        tab, rng = self.tab(), self.rng
        cols = [c for c in self.plain_cols(tab) if c.type in INTEGERS or c.not_null]
        numbers = [c for c in cols if c.type in ("integer", "bigint")]
        if not numbers:
            return f"UPDATE {tab.name} SET {self.col(tab).name} = {self.col(tab).name}"
        size, start = rng.choice([300, 1500]), rng.randrange(4) * 1000
        values = ", ".join("i" if c.type in ("integer", "bigint") else self.seen.value(c.type) for c in cols)
        made = (
            f"INSERT INTO {tab.name} ({', '.join(c.name for c in cols)})"
            f" SELECT {values} FROM generate_series({start}, {start + size}) i ON CONFLICT DO NOTHING"
        )
        number = rng.choice(numbers).name
        moved = f"UPDATE {tab.name} SET {number} = {number} + {rng.choice([5000, -5000])} WHERE {number} > 20"
        gone = f"DELETE FROM {tab.name} WHERE {number} % {rng.choice([2, 3])} = 0"
        return "; ".join(rng.choice([[made], [made, moved], [moved], [gone], [made, gone], [gone, made]]))

    def toast(self) -> str:
        """Values out of line, then changes that leave them where they are."""
        tab, rng = self.tab(), self.rng
        fits = [c for c in self.plain_cols(tab) if c.type in ("text", "jsonb", "bytea", "text[]", "character varying")]
        if not fits:
            return f"ALTER TABLE {tab.name} ADD {self.column()} text DEFAULT {LONG.format(rng.randrange(99), 300)}"
        c = rng.choice(fits)
        long = LONG.format(rng.randrange(99), rng.choice([250, 300]))
        value = {"jsonb": f"to_jsonb({long})", "bytea": f"convert_to({long}, 'UTF8')", "text[]": f"ARRAY[{long}, 'x']"}
        put = f"UPDATE {tab.name} SET {c.name} = {value.get(c.type, long)} WHERE {self.where(tab)}"
        return rng.choice(
            [
                put,
                put,
                f"{put}; {self.update_of(tab)}; {self.update_of(tab)}",
                f"{self.update_of(tab)}; {put}",
                f"ALTER TABLE {tab.name} ALTER {c.name} SET STORAGE {rng.choice(['EXTERNAL', 'MAIN', 'EXTENDED'])}",
            ]
        )

    def update_of(self, tab: Tab) -> str:
        """One other column of some rows."""
        c = self.rng.choice(self.plain_cols(tab) or [Col("a", "integer", "", "", False, "b")])
        return f"UPDATE {tab.name} SET {c.name} = {self.seen.value(c.type)} WHERE {self.where(tab)}"

    def move_rows(self) -> str:
        """Out of one table, into another; updates that join."""
        one, two, rng = self.tab(), self.tab(), self.rng
        return rng.choice(
            [
                f"WITH gone AS (DELETE FROM {one.name} WHERE {self.where(one)} RETURNING *)"
                f" INSERT INTO {two.name} SELECT * FROM gone ON CONFLICT DO NOTHING",
                f"WITH gone AS (DELETE FROM {one.name} RETURNING *) INSERT INTO {one.name} SELECT * FROM gone",
                f"UPDATE {one.name} t SET {self.col(one).name} = NULL FROM {two.name} u WHERE t::text < u::text",
                f"DELETE FROM {one.name} t USING {two.name} u WHERE t.id::text = u.id::text",
                f"INSERT INTO {one.name} SELECT * FROM {one.name} ON CONFLICT DO NOTHING",
            ]
        )

    def truncate_variants(self) -> str:
        tab, rng = self.tab(), self.rng
        return rng.choice(
            [
                f"TRUNCATE ONLY {tab.name}",
                f"TRUNCATE {tab.name}; {self.insert()}; TRUNCATE {tab.name}; {self.insert()}",
                f"{self.insert()}; TRUNCATE {tab.name} RESTART IDENTITY CASCADE; {self.insert()}",
                f"DELETE FROM {tab.name}; {self.insert()}",
                f"DO $do$ BEGIN BEGIN TRUNCATE {tab.name}; RAISE 'no'; EXCEPTION WHEN OTHERS THEN NULL; END; END $do$",
            ]
        )

    def trigger(self) -> str:
        """What a trigger of the source writes comes through the log; the target has none."""
        tab, rng = self.tab(), self.rng
        c = rng.choice([c for c in self.plain_cols(tab) if c.type == "text"] or [self.col(tab)])
        made = (
            "CREATE OR REPLACE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS"
            f" $f$ BEGIN NEW.{c.name} := 'noted'; RETURN NEW; END $f$"
        )
        return rng.choice(
            [
                f"{made}; CREATE TRIGGER noted BEFORE INSERT OR UPDATE ON {tab.name} FOR EACH ROW"
                " EXECUTE FUNCTION noted()",
                f"DROP TRIGGER noted ON {tab.name}",
                f"ALTER TABLE {tab.name} DISABLE TRIGGER ALL",
                f"CREATE RULE r AS ON DELETE TO {tab.name} DO INSTEAD NOTHING",
            ]
        )
