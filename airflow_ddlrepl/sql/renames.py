"""This module makes one statement for each object of a list, and writes renames as ALTER TABLE … RENAME."""

from __future__ import annotations

from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.names import read
from airflow_ddlrepl.sql.scan import scan


def split_objects(text: str, dialect: Dialect) -> tuple[str, ...]:
    """Return RENAME TABLE a TO b, c TO d and DROP TABLE a, b as a statement for each object; other texts as they are.

    What stands in front of the first object and behind the last one, such as comments, belongs to each statement.
    """
    if "," not in text:
        return (text,)
    reading = read(text, dialect)
    if reading.operation not in ("RENAME", "DROP") or len(reading.objects) < 2:
        return (text,)
    ends = [one.end for one in reading.new_names or reading.objects]
    head, tail = text[: reading.objects[0].start], text[ends[-1] :]
    return tuple(f"{head}{text[one.start : end]}{tail}" for one, end in zip(reading.objects, ends, strict=True))


def rewritten(text: str, dialect: Dialect) -> str:
    """Return RENAME TABLE a.x TO a.y as ALTER TABLE a.x RENAME TO y, with the comments around it; of another, itself.

    A new name in another schema keeps it.
    """
    tokens = scan(text, dialect)
    reading = read(text, dialect)
    if reading.operation != "RENAME" or len(reading.objects) != 1:
        return text
    (old,), (new,) = reading.objects, reading.new_names
    start = next(token.start for token in tokens if token.value == "RENAME")
    spelled = text[new.start : new.end]
    if new.schema == old.schema and "." in spelled:
        spelled = text[last_part(new.start, new.end, text, dialect) : new.end]
    return f"{text[:start]}ALTER TABLE {text[old.start : old.end]} RENAME TO {spelled}{text[new.end :]}"


def last_part(start: int, end: int, text: str, dialect: Dialect) -> int:
    """Return where the last part of a name begins, which stands between these places of the text."""
    tokens = [token for token in scan(text[start:end], dialect) if token.value != "."]
    return start + tokens[-1].start
