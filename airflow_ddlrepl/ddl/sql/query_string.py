"""This module splits a query string into its statements, and finds the statement of each DDL record.

A client may send many statements at once. The server runs them one after the other and knows the whole string only;
each DDL statement that is not skipped leaves one record, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from airflow_ddlrepl.ddl.sql.statement import RUN, is_doubtful
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.sql.lexer import Kind, Word, placed_tokens

_OBJECTS = (
    "table", "type", "domain", "index", "schema", "view", "materialized", "sequence", "trigger",
    "function", "procedure", "aggregate", "policy", "rule", "extension",
)  # fmt: skip
_VERBS = ("alter", "create", "drop")
_BESIDE_CREATE = ("or", "replace", "global", "local", "unlogged", "unique", "constraint", "recursive")
_BEGINS, _ENDS = ("begin", "start"), ("commit", "end")
_MOVES = (*_BEGINS, *_ENDS, "rollback", "abort", "savepoint", "release")
_NAMED = ("ALTER TABLE", "CREATE TABLE", "CREATE TABLE AS", "DROP TABLE")


class Statement(NamedTuple):
    """A statement is one piece of a query string, with the command tag that its DDL record will have.

    text: as written, without its semicolon. tag: the command tag of its DDL record; empty: another one, or none.
    """

    text: str
    tag: str
    words: tuple[Word, ...]


def split(query: str) -> tuple[Statement, ...]:
    """Return the statements of a query string; none where it can't be split for certain.

    That is where backslashes may end a string elsewhere, where a function's body is not quoted (BEGIN ATOMIC),
    and where a transaction begins or ends in the middle.
    """
    if is_doubtful(query):
        return ()
    found = tuple(_statement(query, piece) for piece in _pieces(query))
    inner = found[_starts(found, 0, _BEGINS) : len(found) - _starts(found, -1, _ENDS)]
    if any(_first(one) in _MOVES or _is_prepared(one) for one in inner) or any(_is_atomic(one) for one in found):
        return ()
    return found


def with_statements(events: Sequence[Event]) -> list[Event]:
    """Return the events of one transaction, each DDL event with its own statement where its query string had many.

    If there are as many records of a command tag as statements in the string, the first is the first one's, and so on.
    Else some were skipped (IF EXISTS, temporary tables), and none of that tag is known.
    """
    runs: dict[tuple[str, str], list[int]] = {}
    for at, event in enumerate(events):
        if event.kind is EventKind.DDL and event.statement is None and event.query and RUN in event.settings:
            runs.setdefault((str(event.settings[RUN]), event.query), []).append(at)
    found = list(events)
    for (_, query), places in runs.items():
        statements = split(query)
        for tag in {one.tag for one in statements if one.tag}:
            ours = [one for one in statements if one.tag == tag]
            theirs = [at for at in places if events[at].tag == tag]
            pairs = list(zip(ours, theirs, strict=False))
            if len(ours) == len(theirs) and all(_fits(one, events[at]) for one, at in pairs):
                for one, at in pairs:
                    found[at] = replace(events[at], statement=one.text)
    return found


class ByTransaction:
    """This collector takes events in log order and returns them transaction by transaction, after `with_statements`."""

    def __init__(self) -> None:
        self._open: list[Event] = []

    def take(self, events: Iterable[Event]) -> Iterator[Event]:
        """Take the next events of the log; yield those of transactions that have ended, with their statements."""
        for event in events:
            if self._open and self._open[-1].transaction_id != event.transaction_id:
                yield from self.rest()
            self._open.append(event)

    def rest(self) -> Iterator[Event]:
        """Yield the events of the last transaction, with their statements."""
        found, self._open = with_statements(self._open), []
        yield from found


def _pieces(query: str) -> Iterator[list[tuple[Word, int, int]]]:
    """Yield the tokens between semicolons that are in no parentheses (those of a rule's commands are)."""
    piece: list[tuple[Word, int, int]] = []
    depth = 0
    for placed in placed_tokens(query):
        token = placed[0]
        if token.kind is Kind.SIGN:
            depth += (token.text in "([") - (token.text in ")]")
        if token == Word(Kind.SIGN, ";") and depth <= 0:
            if piece:
                yield piece
            piece, depth = [], 0
        else:
            piece.append(placed)
    if piece:
        yield piece


def _statement(query: str, piece: list[tuple[Word, int, int]]) -> Statement:
    words = tuple(token for token, _, _ in piece)
    return Statement(query[piece[0][1] : piece[-1][2]], _tag(words), words)


def _tag(words: Sequence[Word]) -> str:
    """Return the command tag of a statement; empty for one that leaves no DDL record, or whose tag is not sure."""
    texts = [word.text if word.kind is Kind.WORD else "" for word in words]
    verb, rest = texts[0], texts[1:]
    if verb == "comment" or (verb in ("grant", "revoke") and _has_outside(words, "on")):  # else of roles
        return verb.upper()
    if verb == "create":
        while rest and rest[0] in _BESIDE_CREATE:
            rest = rest[1:]
    if verb not in _VERBS or not rest or rest[0] not in _OBJECTS or rest[1:3] == ["all", "in"]:
        return ""
    tag = f"{verb} {rest[0]}".upper()
    if rest[0] == "materialized":
        return f"{tag} VIEW"
    return f"{tag} AS" if tag == "CREATE TABLE" and _has_outside(words, "as") else tag


def _has_outside(words: Sequence[Word], text: str) -> bool:
    """Is the word somewhere outside of parentheses?"""
    depth = 0
    for word in words:
        depth += (word.text == "(") - (word.text == ")") if word.kind is Kind.SIGN else 0
        if not depth and word == Word(Kind.WORD, text):
            return True
    return False


def _first(one: Statement) -> str:
    return one.words[0].text if one.words[0].kind is Kind.WORD else ""


def _starts(found: Sequence[Statement], at: int, words: Sequence[str]) -> int:
    return int(bool(found) and _first(found[at]) in words)


def _is_prepared(one: Statement) -> bool:
    return [word.text for word in one.words[:2]] == ["prepare", "transaction"]


def _is_atomic(one: Statement) -> bool:
    pairs = zip(one.words, one.words[1:], strict=False)
    return (Word(Kind.WORD, "begin"), Word(Kind.WORD, "atomic")) in pairs


def _fits(one: Statement, event: Event) -> bool:
    """Does the statement name a table that the record is about? True where the record names none."""
    if one.tag not in _NAMED:
        return True
    names = {table.name.name for table in (*event.tables, *event.before)} | {name.name for _, name in event.dropped}
    return not names or not names.isdisjoint(word.text for word in one.words if word.kind in (Kind.WORD, Kind.NAME))
