"""Histories with a memory on channels with conditions or functions: each point is gone back to by what is said of it.

    python -m tests.live.history_said 18 1-100                # conditions
    python -m tests.live.history_said 18 1-100 functions

An event trigger at the source sees to it that the log tells whole rows from each table's first one on.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow_ddlrepl.errors import DdlReplError
from tests.live import histories
from tests.live.history_equal import Name, contents
from tests.live.history_restrictions import Restricting, Said
from tests.live.history_rewinds import Memory, Rememberer
from tests.live.history_transformations import Transforming

WHOLE_ROWS = """
CREATE SCHEMA habits;
CREATE FUNCTION habits.whole_rows() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
    made record;
BEGIN
    FOR made IN SELECT object_identity FROM pg_event_trigger_ddl_commands() d JOIN pg_class c ON c.oid = d.objid
        WHERE d.classid = 'pg_class'::regclass AND c.relkind = 'r' AND c.relpersistence <> 't'
    LOOP
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', made.object_identity);
    END LOOP;
END $$;
CREATE EVENT TRIGGER whole_rows ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS')
    EXECUTE FUNCTION habits.whole_rows();
"""


class RestrictingRememberer(Restricting, Rememberer):
    """A point is gone back to by conditions that were possible at it."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        self.sessions[0].execute(WHOLE_ROWS)

    def held(self, but: Collection[int]) -> tuple[Said, list[dict[Name, tuple[Any, ...]]]]:
        before = self.said
        self.said = self.chosen(random.Random(len(self.memories)))
        try:
            return self.said, [contents(self.source, but, wanted=self.wanted())]
        finally:
            self.said = before

    def _go_back(self, memory: Memory) -> None:
        self.say(memory.said)
        with self._if_possible():
            super()._go_back(memory)

    def _go_back_and_on(self, memory: Memory) -> None:
        """What was possible at the point may be impossible by now, or on the way."""
        self.say(memory.said)
        with self._if_possible():
            self.replica.replicate()
            super()._go_back_and_on(memory)
            return
        self.say({})
        self.replica.replicate()
        super()._go_back_and_on(memory)

    @contextmanager
    def _if_possible(self) -> Iterator[None]:
        try:
            yield
        except DdlReplError as error:
            if error.code not in self.impossible:
                raise


class TransformingRememberer(RestrictingRememberer, Transforming):
    """The same with functions."""

    action, impossible = Transforming.action, Transforming.impossible


if __name__ == "__main__":
    *seeds, last = sys.argv[1:]
    kind = TransformingRememberer if last == "functions" else RestrictingRememberer
    sys.exit(histories.main(seeds if last == "functions" else sys.argv[1:], kind))
