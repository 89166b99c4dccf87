"""Plays histories that were recorded as text files: two sessions at a source, and commands of the channel in between.

A statement ends with a semicolon at the end of a line. `/* session 2 */` or `/* the other session */` before it says
that the second session runs it, `-- here: ddlrepl replicate` is a command. The rows of a COPY follow it up to `\\.`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg

from airflow_ddlrepl.errors import DdlReplError
from tests.support.replica import Replica

COMMAND = "-- here: ddlrepl "
SECOND = re.compile(r"/\* (session 2|the other session) \*/ ")
_PARTS = (
    r"/\*.*?\*/",
    r"--[^\n]*",
    r"e'(?:[^'\\]|\\.|'')*'",
    r"'(?:[^']|'')*'",
    r'"[^"]*"',
    r"\$(?P<tag>\w*)\$.*?\$(?P=tag)\$",
    r"[^'\"$/-]+|[/-]",
)
_WHOLE = re.compile(f"(?:{'|'.join(_PARTS)})*", re.DOTALL | re.IGNORECASE)


def statements(text: str) -> Iterator[str]:
    """Yield the statements and the commands of a recorded history."""
    lines: list[str] = []
    is_copy = False
    for line in text.splitlines():
        if not lines and line.startswith(COMMAND):
            yield line
            continue
        if not lines and (not line or (line.startswith("--") and not line.endswith(";"))):
            continue
        lines.append(line)
        so_far = "\n".join(lines)
        if is_copy:
            done = line == "\\."
        else:
            done = line.endswith(";") and not _is_open(so_far)
            is_copy = done and re.match(r"copy .* from stdin;$", SECOND.sub("", so_far), re.IGNORECASE) is not None
            done = done and not is_copy
        if done:
            yield so_far
            lines, is_copy = [], False
    assert not lines, lines


def _is_open(text: str) -> bool:
    """Tell whether a text ends inside a string, a quoted name or a dollar-quoted text."""
    return _WHOLE.fullmatch(text) is None


def play(replica: Replica, file: Path) -> list[DdlReplError]:
    """Play the history at a fresh channel; return what its commands raised, which a later cycle makes good."""
    raised: list[DdlReplError] = []
    with ExitStack() as closing:
        sessions = [closing.enter_context(psycopg.connect(replica.source, autocommit=True)) for _ in range(2)]
        for statement in statements(file.read_text()):
            if statement.startswith(COMMAND):
                try:
                    getattr(replica, statement.removeprefix(COMMAND))()
                except DdlReplError as error:
                    raised.append(error)
            else:
                _say(sessions[bool(SECOND.match(statement))], SECOND.sub("", statement))
    return raised


def _say(session: psycopg.Connection[tuple[object, ...]], text: str) -> None:
    command, _, rows = text.partition(";\n")
    if rows.endswith("\\.") and command.startswith("copy "):
        with session.cursor() as cursor, cursor.copy(command.encode()) as copy:
            copy.write(rows.removesuffix("\\."))
    else:
        session.execute(text.encode())
