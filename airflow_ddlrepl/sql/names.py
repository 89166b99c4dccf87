"""This module reads what a DDL statement is about: operation, object type, base object and derived object."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from airflow_ddlrepl.sql.dialect import OURS, Dialect
from airflow_ddlrepl.sql.languages import OF_DIALECT
from airflow_ddlrepl.sql.operation import OPERATIONS, read_type
from airflow_ddlrepl.sql.tokens import tokens
from airflow_ddlrepl.sql.words import Named, Words, by_first_word

WITH_BASE = frozenset(("INDEX", "TRIGGER", "SYNONYM", "RULE", "POLICY"))
"""Objects that are derived from a base object: an index from its table, a synonym from what it stands for."""

_VERBOSE, _TABLES = by_first_word(("VERBOSE",)), by_first_word(("TABLE",), ("TABLES",))
_FOLLOWS_BASE = {"SYNONYM": ("FOR",), "RULE": ("TO", "ON")}


class Reading(NamedTuple):
    """A reading is what the text of a statement says that it is about.

    objects: the names of that object type which the statement names, in order; several for DROP TABLE a, b. base: of
    an index, trigger or synonym, the object that it is made from. new_names: what each object is renamed to.
    """

    operation: str = ""
    object_type: str = ""
    objects: tuple[Named, ...] = ()
    base: Named | None = None
    new_names: tuple[Named, ...] = ()

    @property
    def is_rename(self) -> bool:
        """Does the statement give tables other names?"""
        return bool(self.new_names)


_WORD = r"[a-z_][\w$]*+"
_NAME = rf"(?!(?:ONLY|IF|CONCURRENTLY|ON)\b)(?:({_WORD})\.)?+({_WORD})(?=[\s;(]|\Z)(?!\s*+\.)"
_EXISTS = r"(?:IF\s++(?:NOT\s++)?+EXISTS\s++)?+"
_ORDINARY = {
    operation: [(of, re.compile(rf"\s++{pattern}", re.IGNORECASE | re.ASCII)) for of, pattern in patterns]
    for operation, patterns in {
        "CREATE": (
            ("TABLE", rf"(?:(?:TEMPORARY|TEMP|UNLOGGED)\s++)?+TABLE\s++{_EXISTS}{_NAME}"),
            ("INDEX", rf"(?:UNIQUE\s++)?+INDEX\s++{_EXISTS}{_NAME}\s++ON\s++(?:ONLY\s++)?+{_NAME}"),
        ),
        "ALTER": (
            ("TABLE", rf"TABLE\s++{_EXISTS}(?:ONLY\s++)?+{_NAME}\s++(?!RENAME\b)[a-z]"),
            ("TABLE", rf"TABLE\s++{_EXISTS}(?:ONLY\s++)?+{_NAME}\s++RENAME\s++TO\s++{_NAME}\s*+;?\s*+\Z"),
        ),
        "DROP": (("TABLE", rf"TABLE\s++{_EXISTS}{_NAME}(?:\s++(?:CASCADE|RESTRICT))?+\s*+;?\s*+\Z"),),
        "COMMENT": (
            ("TABLE", rf"ON\s++TABLE\s++{_NAME}\s++IS\b"),
            ("TABLE", rf"ON\s++COLUMN\s++(?:({_WORD})\.)?({_WORD})\.{_WORD}\s++IS\b"),
        ),
    }.items()
}
"""The commonest statements, by their operation: the type of the object, and an expression for the rest of the text.

The first name is the object's; a second one is an index's table, or a table's new name. What an expression does not
match, such as comments, lists and names in quotes, is read token by token, with the same result for these.
"""


@lru_cache(32)
def read(text: str, dialect: Dialect = OURS) -> Reading:
    """Return what a statement is about. It never fails: what can't be read is left empty."""
    return _read_ordinary(text, dialect) or read_by_tokens(text, dialect)


def read_by_tokens(text: str, dialect: Dialect) -> Reading:
    """Return what a statement is about, whatever it is, from its tokens."""
    words = Words(tokens(text, OF_DIALECT[dialect]), dialect)
    operation = words.peek()
    if operation not in OPERATIONS or not words.take(operation):
        return Reading(operation)
    match operation:
        case "RENAME":
            return _read_rename(words)
        case "GRANT" | "REVOKE":
            return _read_privileges(operation, words)
        case "COMMENT":
            return _read_comment(words)
        case "TRUNCATE" | "ANALYZE":
            words.skip(_VERBOSE)
            object_type = read_type(words) or "TABLE"
            return Reading(operation, object_type, words.names())
        case _:
            return _read_object(operation, words)


def _read_ordinary(text: str, dialect: Dialect) -> Reading | None:
    """Return what one of the commonest statements is about; None: it is none of them."""
    operation = text[: text.find(" ")].upper()
    for object_type, pattern in _ORDINARY.get(operation, ()):
        match = pattern.match(text, len(operation))
        if match is None:
            continue
        name = _matched(match, 1, dialect)
        if match.lastindex == 2:
            return Reading(operation, object_type, (name,))
        other = _matched(match, 3, dialect)
        if object_type == "INDEX":
            return Reading(operation, object_type, (name,), other)
        return Reading(operation, object_type, (name,), None, (_in_schema(other, name),))
    return None


def _matched(match: re.Match[str], group: int, dialect: Dialect) -> Named:
    """Return a name whose schema is this group of a match, and which is itself the next one."""
    schema, name = match.group(group, group + 1)
    start = match.start(group if schema else group + 1)
    return Named(dialect.fold(schema) if schema else "", dialect.fold(name), start, match.end(group + 1))


def _read_object(operation: str, words: Words) -> Reading:
    object_type = read_type(words)
    if object_type == "INDEX" and words.take("ON"):  # an index without a name
        words.take("ONLY")
        return Reading(operation, object_type, (), words.name())
    if operation == "CREATE" and object_type == "TABLE":  # has one name; the rest of the text need not be read
        return Reading(operation, object_type, words.first_name())
    objects = words.names() if object_type else ()
    if object_type in WITH_BASE:
        return Reading(operation, object_type, objects, _base(words, _FOLLOWS_BASE.get(object_type, ("ON",))))
    if operation == "ALTER" and object_type == "TABLE" and len(objects) == 1:
        return Reading(operation, object_type, objects, None, _new_name(words, objects[0]))
    return Reading(operation, object_type, objects)


def _base(words: Words, behind: tuple[str, ...]) -> Named | None:
    """Read the base object, which stands behind one of these words."""
    if not any(words.skip_to(one) for one in behind):
        return None
    words.take("ONLY")
    return words.name()


def _new_name(words: Words, old: Named) -> tuple[Named, ...]:
    """Return the name of ALTER TABLE … RENAME TO, in the schema of the old one unless it says another."""
    if not (words.take("RENAME", "TO") or words.take("RENAME", "AS")):
        return ()
    new = words.name()
    return (_in_schema(new, old),) if new is not None else ()


def _read_rename(words: Words) -> Reading:
    """Read RENAME TABLE a TO b, c TO d, and RENAME a TO b."""
    words.skip(_TABLES)
    old, new = [], []
    while (name := words.name()) is not None and words.take("TO") and (other := words.name()) is not None:
        old.append(name)
        new.append(_in_schema(other, name))
        if not words.take(","):
            break
    return Reading("RENAME", "TABLE", tuple(old), None, tuple(new))


def _in_schema(new: Named, old: Named) -> Named:
    return new if new.schema else Named(old.schema, new.name, new.start, new.end)


def _read_privileges(operation: str, words: Words) -> Reading:
    if not words.skip_to("ON"):
        return Reading(operation, "ROLE")
    if words.take("ALL"):
        return Reading(operation, "SCHEMA")
    return Reading(operation, read_type(words) or "TABLE", words.names())


def _read_comment(words: Words) -> Reading:
    words.take("ON")
    object_type = read_type(words)
    if object_type == "COLUMN":
        name = words.name(drop=1)
        return Reading("COMMENT", "TABLE", (name,) if name else ())
    name = words.name()
    objects = (name,) if name else ()
    if object_type in WITH_BASE:
        return Reading("COMMENT", object_type, objects, words.name() if words.take("ON") else None)
    return Reading("COMMENT", object_type, objects)
