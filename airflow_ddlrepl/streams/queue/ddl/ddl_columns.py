"""This module lets the columns in a DDL statement follow: renamed ones are renamed, what is about deleted ones goes.

It knows ALTER TABLE, CREATE TABLE, CREATE INDEX and COMMENT ON COLUMN; a column in another statement is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.spelling import RESERVED, spell
from airflow_ddlrepl.sql.tokens import Kind, Token

Columns = Callable[[str], str | None]
"""What a column of a table is called; None: it is deleted."""
_CONSTRAINTS = frozenset(("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "EXCLUDE", "LIKE", "NOT"))
_NO_COLUMN = frozenset(
    ("OWNER", "SET", "RESET", "ENABLE", "DISABLE", "FORCE", "NO", "ATTACH", "DETACH", "INHERIT", "REPLICA", "CLUSTER")
) | {"VALIDATE", "OF", "NOT"}


class NotRewritten(Exception):
    """This exception says why a statement can't follow the names of a client's rows."""


class Edit(NamedTuple):
    """An edit puts another text in the place of a part of a statement."""

    start: int
    end: int
    text: str


class Part(NamedTuple):
    """A part is one of the actions or elements of a statement, which commas divide. is_left: it stays."""

    start: int
    end: int
    is_left: bool


class ColumnEdits:
    """Column edits are what has to change in a statement about a table, so that it fits the columns of its rows.

    columns: of the table. changed: those of its names that change. referenced: the columns of a table that a foreign
    key names, by the place of its name. edits: of names. parts: of the statement, where some have to go.
    """

    def __init__(
        self, columns: Columns, changed: Sequence[str], referenced: Callable[[Sequence[Token], int], Columns | None]
    ) -> None:
        self._columns = columns
        self._changed = frozenset(changed)
        self._referenced = referenced
        self.edits: list[Edit] = []
        self.parts: list[Part] = []
        self.gone: list[str] = []

    def alter_table(self, pieces: Sequence[Token]) -> None:
        """Read the actions of ALTER TABLE, which stand behind the table's name. Raises NotRewritten."""
        self._each(pieces, self._action)

    def create_table(self, pieces: Sequence[Token]) -> None:
        """Read the elements of CREATE TABLE and what follows them, behind the table's name. Raises NotRewritten."""
        closing = _closing(pieces, 0) if _value(pieces, 0) == "(" else 0
        if closing:
            self._each(pieces[1:closing], self._element)
        rest = [piece for piece in pieces[closing:] if _is_word(piece)]
        if self._changed and any(piece.value == "AS" for piece in rest):
            raise NotRewritten("a table that is made by a query has other columns then")
        key = next((at for at in range(closing, len(pieces)) if _value(pieces, at) == "BY"), len(pieces))
        if self._expression(pieces[key:]):
            raise NotRewritten(f"it is partitioned by {self.gone[-1]}, which its rows do not have")

    def create_index(self, pieces: Sequence[Token]) -> bool:
        """Read the columns of an index, behind its table's name. Return whether all of them are there."""
        at = next((at for at, piece in enumerate(pieces) if piece.value == "("), None)
        if at is None:
            return True
        closing = _closing(pieces, at)
        is_left = True
        for part in _parts(pieces[at + 1 : closing]):
            is_plain = bool(part) and is_column(part, 0)
            is_left &= (not is_plain or self.subject(part[0])) and not self._expression(part[is_plain:])
        return is_left and not self._expression(pieces[closing:])

    def subject(self, piece: Token) -> bool:
        """Note the new name of a column. Return whether it is there."""
        name = name_of(piece)
        to = self._columns(name)
        if to is None:
            self.gone.append(name)
            return False
        if to != name:
            self.edits.append(Edit(piece.start, piece.end, spell(to)))
        return True

    def _each(self, pieces: Sequence[Token], reads: Callable[[Sequence[Token]], bool]) -> None:
        for part in _parts(pieces):
            if part:
                self.parts.append(Part(part[0].start, part[-1].end, reads(part)))

    def _action(self, pieces: Sequence[Token]) -> bool:
        """Read an action of ALTER TABLE. Return whether it stays."""
        verb = pieces[0].value if _is_word(pieces[0]) else ""
        if verb in _NO_COLUMN:
            return True
        at = 1
        is_column = _value(pieces, at) == "COLUMN"
        at += is_column
        if _value(pieces, at) == "IF":
            at += 3 if _value(pieces, at + 1) == "NOT" else 2
        if at >= len(pieces) or not (is_column or verb != "ADD" or _value(pieces, at) not in _CONSTRAINTS):
            return self._constraint(pieces[1:])
        match verb:
            case "ADD":
                return self._definition(pieces[at:])
            case "DROP" if is_column or _value(pieces, at) != "CONSTRAINT":
                return self.subject(pieces[at])
            case "ALTER" if is_column or _value(pieces, at) != "CONSTRAINT":
                return self._altered(pieces[at:])
            case "RENAME" if is_column or _value(pieces, at) not in ("CONSTRAINT", "TO"):
                return self._renamed(pieces[at], pieces[-1])
            case "DROP" | "ALTER" | "RENAME":
                return True
        raise NotRewritten(f"{pieces[0].text} is no action of ALTER TABLE that is known")

    def _element(self, pieces: Sequence[Token]) -> bool:
        """Read an element of CREATE TABLE. Return whether it stays."""
        first = pieces[0].value if _is_word(pieces[0]) else ""
        if first == "LIKE" and self._changed:
            raise NotRewritten("LIKE gives the table columns of another one")
        return self._constraint(pieces) if first in _CONSTRAINTS else self._definition(pieces)

    def _definition(self, pieces: Sequence[Token]) -> bool:
        """Read a column with its type and constraints. Return whether it stays."""
        edits = len(self.edits)
        if not self.subject(pieces[0]):
            return False
        for at, piece in enumerate(pieces[1:], 1):
            if piece.value == "(" and _value(pieces, at - 1) in ("AS", "CHECK"):
                closing = _closing(pieces, at)
                if self._expression(pieces[at:closing]):
                    del self.edits[edits:]
                    raise NotRewritten(
                        f"column {name_of(pieces[0])} is made of {self.gone[-1]}, which its rows do not have"
                    )
        return self._references(pieces)

    def _altered(self, pieces: Sequence[Token]) -> bool:
        """Read ALTER COLUMN. Return whether it stays."""
        if not self.subject(pieces[0]):
            return False
        heads = [at for at, piece in enumerate(pieces) if _is_word(piece) and piece.value in ("USING", "EXPRESSION")]
        if heads and self._expression(pieces[heads[0] + 1 :]):
            raise NotRewritten(f"{name_of(pieces[0])} gets values of {self.gone[-1]}, which its rows do not have")
        return True

    def _renamed(self, old: Token, new: Token) -> bool:
        """Read RENAME COLUMN. Return whether it stays."""
        was, now = self._columns(name_of(old)), self._columns(name_of(new))
        if was == now:
            self.gone.append(name_of(old))
            return False
        if was is None or now is None:
            raise NotRewritten(
                f"column {name_of(old)} becomes {name_of(new)}, and one of them is deleted from the rows: its values"
                f" {'begin' if was is None else 'cease'} to be there"
            )
        return self.subject(old) and self.subject(new)

    def _constraint(self, pieces: Sequence[Token]) -> bool:
        """Read a table's constraint. Return whether it stays: all of its columns are there."""
        is_left, at = True, 0
        for here in range(len(pieces) - 2):
            if (_value(pieces, here), _value(pieces, here + 1)) == ("NOT", "NULL") and is_column(pieces, here + 2):
                is_left &= self.subject(pieces[here + 2])
        while at < len(pieces):
            if pieces[at].value != "(":
                at += 1
                continue
            closing = _closing(pieces, at)
            if not any(_value(pieces, before) == "REFERENCES" for before in range(max(0, at - 4), at)):
                is_left &= not self._expression(pieces[at:closing])
            at = closing
        return is_left and self._references(pieces)

    def _references(self, pieces: Sequence[Token]) -> bool:
        """Read the columns of another table that a foreign key names. Return whether they are there."""
        at = next((at for at, piece in enumerate(pieces) if _is_word(piece) and piece.value == "REFERENCES"), None)
        if at is None or (columns := self._referenced(pieces, at + 1)) is None:
            return True
        opening = next((i for i in range(at, len(pieces)) if pieces[i].value == "("), None)
        if opening is None:
            return True
        other = ColumnEdits(columns, (), self._referenced)
        is_left = all(
            other.subject(part[0]) for part in _parts(pieces[opening + 1 : _closing(pieces, opening)]) if part
        )
        self.edits += other.edits
        self.gone += other.gone
        return is_left

    def _expression(self, pieces: Sequence[Token]) -> bool:
        """Note the new names of columns in an expression. Return whether it mentions one that is not there."""
        is_gone = False
        for at, piece in enumerate(pieces):
            if is_column(pieces, at) and name_of(piece) in self._changed:
                is_gone |= not self.subject(piece)
        return is_gone


def is_column(pieces: Sequence[Token], at: int) -> bool:
    """Return whether a piece of an expression can be a column: no keyword, type, function or schema."""
    piece = pieces[at]
    if piece.kind is not Kind.NAME and (not _is_word(piece) or piece.value in RESERVED):
        return False
    before, after = _value(pieces, at - 1), _value(pieces, at + 1)
    if after in ("(", ".") or before in ("::", "AS", "COLLATE", "NULLS"):
        return False
    return not (before == "(" and at > 1 and _value(pieces, at - 2) == "EXTRACT")


def name_of(piece: Token) -> str:
    """Return the name that a piece of a statement is."""
    return piece.value if piece.kind is Kind.NAME else Dialect.POSTGRES.fold(piece.text)


def _is_word(piece: Token) -> bool:
    return piece.kind is Kind.WORD


def _value(pieces: Sequence[Token], at: int) -> str:
    """Return the word or sign at a place; of a name or constant, and behind the end, nothing."""
    if not 0 <= at < len(pieces) or pieces[at].kind not in (Kind.WORD, Kind.SIGN):
        return ""
    return pieces[at].value


def _closing(pieces: Sequence[Token], opening: int) -> int:
    """Return where the parentheses that open here are closed."""
    depth = 0
    for at in range(opening, len(pieces)):
        depth += (_value(pieces, at) == "(") - (_value(pieces, at) == ")")
        if not depth:
            return at
    return len(pieces)


def _parts(pieces: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield what stands between commas that are in no parentheses."""
    start = depth = 0
    for at in range(len(pieces)):
        value = _value(pieces, at)
        depth += (value in ("(", "[")) - (value in (")", "]"))
        if value == "," and not depth:
            yield pieces[start:at]
            start = at + 1
    yield pieces[start:]
