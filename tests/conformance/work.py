"""Random work at a source in words that every engine understands: rows with and without a key, and DDL among them."""

from __future__ import annotations

import random

import psycopg

START = (
    "create table orders (id int primary key, note text)",
    "insert into orders select i, 'order ' || i from generate_series(1, 30) i",
    "create table log (what text, n int)",
    "alter table log replica identity full",
    "insert into log select 'twice', i % 3 from generate_series(1, 12) i",
)


class Worker:
    """One transaction after the other; all of it follows from the seed. rng: may be used for more."""

    def __init__(self, source: str, seed: int) -> None:
        self.rng = random.Random(seed)
        self.source = source
        self.number = 0

    def work(self, transactions: int) -> list[str]:
        """What was said; a transaction that the server refuses is left out."""
        said: list[str] = []
        with psycopg.connect(self.source) as connection:
            for _ in range(transactions):
                done: list[str] = []
                try:
                    for _ in range(self.rng.randrange(1, 5)):
                        statement = self._statement(connection)
                        connection.execute(statement.encode())
                        done.append(statement)
                except psycopg.Error:
                    connection.rollback()
                    continue
                connection.commit()
                said += [*done, "commit"]
        return said

    def _statement(self, connection: psycopg.Connection) -> str:  # type: ignore[type-arg]
        rng, self.number = self.rng, self.number + 1
        n = self.number
        if rng.random() < 0.06:
            return f"create table t{n} (id int primary key, a text, b int default {n})"
        query = (
            "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by oid"
        )
        tables = [name for (name,) in connection.execute(query)]
        if not tables:
            return f"create table t{n} (id int primary key, a text)"
        table = rng.choice(tables)
        kinds = "select attname, atttypid::regtype::text from pg_attribute where attrelid = %s::regclass and attnum > 0"
        columns = connection.execute(f"{kinds} and not attisdropped order by attnum".encode(), [table]).fetchall()
        return self._rows(table, columns) if rng.random() < 0.7 else self._ddl(table, columns, tables)

    def _value(self, kind: str) -> str:
        if self.rng.random() < 0.15:
            return "null"
        return str(self.rng.randrange(-50, 50)) if kind in ("integer", "bigint") else f"'v{self.rng.randrange(9)}'"

    def _rows(self, table: str, columns: list[tuple[str, str]]) -> str:
        rng = self.rng
        keyed = columns[0][0] == "id"
        at = rng.randrange(60)
        where = f"id = {at}" if keyed else f"ctid = (select ctid from {table} order by ctid limit 1 offset {at % 7})"
        kind = rng.random()
        names = [name for name, _ in columns]
        values = [self._value(kind) for _, kind in columns]
        if kind < 0.45:
            values = [str(rng.randrange(60)), *values[1:]] if keyed else values
            rest = " on conflict do nothing" if keyed else ""
            return f"insert into {table} ({', '.join(names)}) values ({', '.join(values)}){rest}"
        if kind < 0.7 and len(names) > 1:
            which = rng.randrange(1, len(names))
            return f"update {table} set {names[which]} = {values[which]} where {where}"
        if kind < 0.8 and keyed:
            return f"update {table} set id = {rng.randrange(60, 90)} where id = {at}"
        if kind < 0.95:
            return f"delete from {table} where {where}"
        return f"truncate {table}"

    def _ddl(self, table: str, columns: list[tuple[str, str]], tables: list[str]) -> str:
        rng, n = self.rng, self.number
        others = [name for name, _ in columns[1:]]
        kind = rng.randrange(9)
        if kind < 3 or not others:
            default = rng.choice(["", "", f" default {n}", f" not null default {n}"])
            return f"alter table {table} add column c{n} {rng.choice(['int', 'bigint', 'text'])}{default}"
        column = rng.choice(others)
        if kind == 3:
            return f"alter table {table} drop column {column}"
        if kind == 4:
            return f"alter table {table} rename column {column} to r{n}"
        if kind == 5:
            return f"alter table {table} alter column {column} type {rng.choice(['bigint', 'text'])}"
        if kind == 6:
            return f"alter table {table} rename to m{n}"
        if kind == 7 and len(tables) > 2:
            return f"drop table {table}"
        if kind == 8:
            other = rng.choice(tables)
            if other != table:  # two tables swap their names
                return "; alter table ".join(
                    [f"alter table {table} rename to x", f"{other} rename to {table}", f"x rename to {other}"]
                )
        return f"alter table {table} alter column {column} set default null"
