"""Histories with a memory on channels with conditions or functions: each point is gone back to by what is said of it.

    python -m tests.histories.mapping_rewinds 18 1-100                # conditions
    python -m tests.histories.mapping_rewinds 18 1-100 functions

An event trigger at the source sees to it that the log tells whole rows from each table's first one on.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from airflow_ddlrepl.errors import DdlReplError
from tests.histories import histories
from tests.histories.equality import Name, contents
from tests.histories.restrictions import Restricting, Said
from tests.histories.rewinds import Memory, Rememberer
from tests.histories.transformations import Transforming
from tests.support.refusing import reason

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
        said = self.chosen(random.Random(len(self.memories)))
        return said, [contents(self.source, but, wanted=self.rows(said))]

    def _go_back(self, memory: Memory) -> None:
        self.say(memory.said)
        self._is_done(partial(super()._go_back, memory))

    def _go_back_and_on(self, memory: Memory) -> None:
        """What was possible at the point may be impossible by now, or on the way."""
        if not self._is_done(partial(self._there_and_on, memory, memory.said)):
            self._there_and_on(memory, {})

    def _there_and_on(self, memory: Memory, said: Said) -> None:
        self.say(said)
        self.replica.replicate()
        super()._go_back_and_on(memory)

    def _is_done(self, work: Callable[[], None]) -> bool:
        """Unless it is impossible."""
        try:
            work()
        except DdlReplError as error:
            if reason(error) not in self.impossible:
                raise
            return False
        return True


class TransformingRememberer(RestrictingRememberer, Transforming):
    """The same with functions."""


if __name__ == "__main__":
    kind = TransformingRememberer if "functions" in sys.argv else RestrictingRememberer
    sys.exit(histories.main([given for given in sys.argv[1:] if given != "functions"], kind))
