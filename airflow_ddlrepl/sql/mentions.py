"""This module finds the other tables that a statement names: of foreign keys, queries, partitions and parents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.scan import scan
from airflow_ddlrepl.sql.tokens import COMMENT, SIGN, WORD, Token
from airflow_ddlrepl.sql.words import Named, Words, by_first_word

_BEFORE_A_TABLE = by_first_word(
    ("REFERENCES",), ("INHERITS", "("), ("PARTITION", "OF"), ("ATTACH", "PARTITION"), ("DETACH", "PARTITION"),
    ("INHERIT",), ("JOIN",), ("EXCHANGE", "PARTITION"), ("OWNED", "BY"),
    ("FROM",), ("LIKE",),
)  # fmt: skip
_WORDS = ("FROM", "LIKE", "REFERENCES", "PARTITION", "JOIN", "INHERIT", "OWNED")
"""Each of these phrases has one of these words."""
_BEFORE_A_NAME = by_first_word(("ONLY",), ("LATERAL",), ("IF", "EXISTS"))
_IN_QUERIES = frozenset((("FROM",), ("JOIN",)))
_LISTS = frozenset((("INHERITS", "("), ("FROM",)))


def mentioned(tokens: Sequence[Token], dialect: Dialect) -> Iterator[Named]:
    """Yield the names of tables that stand behind REFERENCES, PARTITION OF, FROM of a query and the like.

    A FROM or JOIN counts in a query only: not in EXTRACT(year FROM x), nor in FOR VALUES FROM (1).
    """
    if _BEFORE_A_TABLE.keys().isdisjoint([token.value for token in tokens]):
        return
    tokens = [token for token in tokens if token.kind is not COMMENT]
    is_query = [False]
    for at, token in enumerate(tokens):
        if token.kind is SIGN and token.value in "()":
            is_query = [*is_query, False] if token.value == "(" else is_query[:-1] or [False]
        elif token.kind is WORD and token.value == "SELECT":
            is_query[-1] = True
        elif token.kind is WORD and token.value in _BEFORE_A_TABLE:
            yield from _behind(tokens, at, dialect, is_query=is_query[-1])


def mentioned_in(text: str, dialect: Dialect) -> Iterator[Named]:
    """Yield the same of a text, which is split into tokens only where it has a word that stands before a table."""
    upper = text.upper()
    if any(word in upper for word in _WORDS):
        yield from mentioned(scan(text, dialect), dialect)


def _behind(tokens: list[Token], at: int, dialect: Dialect, *, is_query: bool) -> Iterator[Named]:
    if tokens[at].value == "LIKE" and not (at and tokens[at - 1].value in ("(", ",")):
        return
    words = Words(tokens[at : at + 40], dialect)
    phrase = words.take_any(_BEFORE_A_TABLE)
    if not phrase or (phrase in _IN_QUERIES and not is_query):
        return
    words.skip(_BEFORE_A_NAME)
    name = words.name(drop=1 if phrase == ("OWNED", "BY") else 0)
    while name is not None:
        yield name
        name = _next_of_list(words) if phrase in _LISTS else None


def _next_of_list(words: Words) -> Named | None:
    """Read the next name of a list; of a query an alias may stand in front of the comma."""
    if words.peek() not in (",", ")", "(", ";"):
        words.take("AS")
        if words.peek(1) == ",":
            words.name()
    return words.name() if words.take(",") else None
