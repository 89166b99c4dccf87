"""Plays a history on a channel whose targets take some rows of some tables, and other ones every few acts.

python -m tests.histories.restrictions 18 1-100
"""

from __future__ import annotations

import random
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import yaml
from psycopg import sql

from airflow_ddlrepl.errors import DdlReplError
from tests.histories import histories
from tests.histories.catalog import Seen
from tests.histories.equality import Name
from tests.histories.player import IDLE, OPEN, Player, Step
from tests.histories.statements import Weights, Words
from tests.support.refusing import reason

EVERY = 5
ROWS: Weights = {Words.insert: 3, Words.update: 6, Words.delete: 1, Words.swap_keys: 1, Words.toast: 1}
Said = Mapping[Name, Mapping[str, Any]]
NUMBERS = ("smallint", "integer", "bigint")
TEXTS = ("text", "character varying", "character")
OTHERS = ("boolean", "date", "timestamp without time zone", "timestamp with time zone", "numeric", "double precision")
TABLES = """
WITH RECURSIVE tree AS (
    SELECT c.oid, c.oid AS top FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
        AND NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid)
    UNION ALL SELECT i.inhrelid, t.top FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid)
SELECT t.top::bigint, n.nspname::text, c.relname::text, c.relkind = 'r', (
    SELECT json_agg(json_build_array(quote_ident(a.attname), format_type(a.atttypid, NULL)) ORDER BY a.attnum)
    FROM pg_attribute a WHERE a.attrelid = t.top AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''),
    EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attgenerated <> '')
FROM tree t JOIN pg_class c ON c.oid = t.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'ddlrepl', 'pg_toast')
ORDER BY n.nspname, c.relname
"""


class Restricting(Player):
    """Every few acts of the channel its file changes. What asks for the impossible is taken back."""

    action = "restrict"
    impossible: Collection[str] = ("ADP-147", "ADP-148", "ADP-149", "ADP-154", "INT-112")

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        self.acts = 0
        self.said: Said = {}

    def along(self, steps: Iterator[Step], seed: int) -> Iterator[Step]:
        """With more rows between the schema changes: they are to come into the conditions and go out of them."""
        rng = random.Random(f"rows {seed}")
        for step in super().along(steps, seed):
            yield step
            for _ in range(rng.randrange(4)):
                session = rng.choice(self.sessions)
                if self.acts and session.info.transaction_status in (IDLE, OPEN):
                    text = Words(rng, Seen.by(session, rng)).one(ROWS)
                    yield Step(self.sessions.index(session), text, guarded=True)

    def wanted(self) -> Mapping[Name, str]:
        return self.rows(self.said)

    def rows(self, said: Said) -> Mapping[Name, str]:
        """Those that the targets are to have by it."""
        return {name: f"({entry['condition']}) IS TRUE" for name, entry in said.items()}

    def _act(self, what: str) -> None:
        self.acts += 1
        if self.acts % EVERY == 1:
            self.say(self.chosen(random.Random(self.acts)))
        try:
            super()._act(what)
        except DdlReplError as error:
            if reason(error) not in self.impossible:
                raise
            self.say({})
            super()._act(what)

    def say(self, said: Said) -> None:
        self.said = said
        data = yaml.safe_load(self.replica.file.read_text())
        data[self.action] = [{"tables": ".".join(map(quoted, name)), **entry} for name, entry in said.items()]
        self.replica.file.write_text(yaml.safe_dump(data))

    def chosen(self, rng: random.Random) -> Said:
        """For most tables whose log can tell whole old rows; a partition's is its table's."""
        with psycopg.connect(self.source, autocommit=True) as connection:
            connection.execute("SET lock_timeout = '50ms'; SET search_path = pg_catalog")
            found = connection.execute(TABLES).fetchall()
            entries: dict[int, dict[str, Any]] = {}
            for top, _, _, _, columns, _ in found:
                if top not in entries:
                    entries[top] = self.entry(connection, top, columns or [], rng)
            lost = {top for top, *_, is_generated in found if is_generated or not entries[top]}
            for top, schema, name, is_table, _, _ in found:
                if top not in lost and is_table and not is_whole(connection, (schema, name)):
                    lost.add(top)
            return {(schema, name): entries[top] for top, schema, name, *_ in found if top not in lost}

    def entry(
        self, connection: psycopg.Connection[Any], table: int, columns: list[tuple[str, str]], rng: random.Random
    ) -> dict[str, Any]:
        """What is said of a table; empty: nothing. columns: names as SQL spells them, and types."""
        condition = _condition(columns, rng) if rng.random() < 0.8 else ""
        return {"condition": condition} if condition else {}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_whole(connection: psycopg.Connection[Any], name: Name) -> bool:
    """Unless a transaction has the table."""
    statement = sql.SQL("ALTER TABLE {} REPLICA IDENTITY FULL").format(sql.Identifier(*name))
    try:
        connection.execute(statement)
    except psycopg.Error:
        return False
    return True


def _condition(columns: list[tuple[str, str]], rng: random.Random) -> str:
    known = [(name, of) for name, of in columns if of in (*NUMBERS, *TEXTS, *OTHERS)]
    if not known:
        return ""
    name, of = rng.choice(known)
    if of in NUMBERS:
        return rng.choice([f"{name} % 3 <> 1", f"{name} > 2 OR {name} IS NULL", f"{name} BETWEEN -5 AND 3"])
    if of in TEXTS:
        return rng.choice([
            f"{name} LIKE '%a%'",
            f"{name} LIKE '%' AND {name} <> 'a'",  # LIKE is refused when the column gets a type that 'a' is not of
            f"{name} LIKE '%' AND {name} IN ('', 'a', 'B', '1', '2', '3')",
        ])  # fmt: skip
    if of in ("numeric", "double precision"):
        return rng.choice([f"{name} > 2", f"NOT ({name} <= 1.5)"])
    return f"{name} IS {rng.choice(['NULL', 'NOT NULL'])}"


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Restricting))
