"""This module reads which columns a statement renames or drops, and the other name that it gives its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.languages import OF_DIALECT
from airflow_ddlrepl.sql.tokens import tokens
from airflow_ddlrepl.sql.words import Named, Words, by_first_word

_ONLINE = by_first_word(("ONLINE",), ("OFFLINE",), ("IGNORE",))
_EXISTS = by_first_word(("IF", "EXISTS"))
_OTHERS = ("INDEX", "KEY", "CONSTRAINT", "PRIMARY", "FOREIGN", "CHECK", "PARTITION", "SYSTEM", "PERIOD")
"""What a clause may rename or drop beside columns."""


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """Column changes are what an ALTER TABLE does with the names of columns, all at once."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    """The old name of each column that gets another one, by the new name."""
    dropped: frozenset[str] = frozenset()
    """Columns that are dropped; one that is there afterwards was added by the same statement."""
    table: Named | None = None
    """The other name of the table."""


def column_changes(text: str, dialect: Dialect) -> ColumnChanges:
    """Return what an ALTER TABLE does with columns' names; of another statement, nothing."""
    words = Words(tokens(text, OF_DIALECT[dialect]), dialect)
    if not words.take("ALTER"):
        return ColumnChanges()
    words.skip(_ONLINE)
    if not words.take("TABLE"):
        return ColumnChanges()
    words.skip(_EXISTS)
    words.first_name()
    renamed: dict[str, str] = {}
    dropped: set[str] = set()
    table: Named | None = None
    while True:
        if words.take("RENAME"):
            table = _read_rename(words, renamed) or table
        elif words.take("CHANGE"):
            words.take("COLUMN")
            words.skip(_EXISTS)
            _add(words.name(), words.name(), renamed)
        elif words.take("DROP") and (words.take("COLUMN") or words.peek() not in _OTHERS):
            words.skip(_EXISTS)
            if (name := words.name()) is not None:
                dropped.add(name.name)
        if not words.skip_past(","):
            return ColumnChanges(renamed, frozenset(dropped), table)


def _read_rename(words: Words, renamed: dict[str, str]) -> Named | None:
    """Read what stands behind RENAME: a column's two names, which are added, or the table's new one."""
    if words.peek() in _OTHERS:
        return None
    is_column = words.take("COLUMN")
    words.skip(_EXISTS)
    if not is_column and (words.take("TO") or words.take("AS") or words.take("=")):
        return words.name()
    old = words.name()
    if words.take("TO"):
        _add(old, words.name(), renamed)
        return None
    return None if is_column else old


def _add(old: Named | None, new: Named | None, renamed: dict[str, str]) -> None:
    if old is not None and new is not None and old.name != new.name:
        renamed[new.name] = old.name
