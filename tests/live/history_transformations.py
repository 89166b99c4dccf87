"""Plays a history on a channel whose targets get values of some columns by a function, which gives them as they are.

python -m tests.live.history_transformations 18 1-100
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import yaml

from airflow_ddlrepl.errors import DdlReplError
from tests.live import histories
from tests.live.history_equal import ALL_ROWS, Name
from tests.live.history_player import Player
from tests.live.history_restrictions import EVERY, TABLES, Restricting, is_whole

IMPOSSIBLE = ("ADP-149", "ADP-154", "ADP-155", "ADP-157", "INT-112")
PLAIN = """
SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attgenerated = '' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid
        AND a.attnum = ANY (i.indkey::int2[])) ORDER BY a.attnum
"""


class Transforming(Restricting):
    """Every few acts of the channel its file changes. What asks for the impossible is taken back."""

    def wanted(self) -> Mapping[Name, str]:
        return ALL_ROWS

    def _act(self, what: str) -> None:
        self.acts += 1
        if self.acts % EVERY == 1:
            self._transform(list(self._entries(random.Random(self.acts))))
        try:
            Player._act(self, what)
        except DdlReplError as error:
            if error.code not in IMPOSSIBLE:
                raise
            self._transform([])
            Player._act(self, what)

    def _transform(self, entries: list[dict[str, Any]]) -> None:
        data = yaml.safe_load(self.replica.file.read_text())
        data["transform"] = entries
        self.replica.file.write_text(yaml.safe_dump(data))

    def _entries(self, rng: random.Random) -> Iterator[dict[str, Any]]:
        """For most tables whose log can tell whole old rows; a partition's is its table's."""
        with psycopg.connect(self.source, autocommit=True) as connection:
            connection.execute("SET lock_timeout = '50ms'; SET search_path = pg_catalog")
            found = connection.execute(TABLES).fetchall()
            chosen: dict[int, dict[str, Any]] = {}
            for top, *_ in found:
                columns = [name for (name,) in connection.execute(PLAIN, [top])]
                if top not in chosen and columns and rng.random() < 0.8:
                    given = rng.sample(columns, rng.randint(1, len(columns)))
                    reads = {} if rng.random() < 0.5 else {"reads": _quoted(given[0])}
                    said = {"columns": [_quoted(name) for name in given], "version": str(self.acts), **reads}
                    chosen[top] = {"function": "tests.live.values_of_ours:same", **said}
            lost = {top for top, *_, is_generated in found if is_generated}
            for top, schema, name, is_table, _, _ in found:
                if top in chosen and top not in lost and is_table and not is_whole(connection, (schema, name)):
                    lost.add(top)
            for top, schema, name, *_ in found:
                if top in chosen and top not in lost:
                    yield {"tables": ".".join(map(_quoted, (schema, name))), **chosen[top]}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Transforming))
