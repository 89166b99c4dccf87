"""This module reads from a DDL statement whether it gives a target code of the source's, or rights.

What runs code: a function's body, a view's query, an expression that calls something. Whoever made it at the source
would run it at the target with the rights of whoever comes across it, first of all of the role that writes the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from airflow_ddlrepl.ddl.sql.calls import called
from airflow_ddlrepl.sql.lexer import Kind, Word, parts, placed_tokens, tokens


class Code(StrEnum):
    """A kind of statement that a channel file has to name before a target runs it: it carries code, or rights.

    function: also procedures and aggregates. view: also materialized views. owner: who owns an object. type: other
    than enums and composite types. expression: defaults, checks, keys and index expressions that call what is not known
    to be harmless.
    """

    FUNCTION = "function"
    TRIGGER = "trigger"
    RULE = "rule"
    POLICY = "policy"
    VIEW = "view"
    GRANT = "grant"
    OWNER = "owner"
    TYPE = "type"
    OPERATOR = "operator"
    CAST = "cast"
    EXPRESSION = "expression"


EXPRESSIONS = "`expression`: defaults, checks, indexes and USING may call any function, as the target's role"


@dataclass(frozen=True, slots=True)
class Carried:
    """This is what a statement carries: kinds that the file has to name, or why no file lets a target run it."""

    kinds: frozenset[Code] = field(default_factory=frozenset)
    never: str = ""


_OBJECTS: dict[str, Code | None] = {
    "table": None, "index": None, "sequence": None, "schema": None, "type": None, "domain": None, "collation": None,
    "statistics": None, "function": Code.FUNCTION, "procedure": Code.FUNCTION, "routine": Code.FUNCTION,
    "aggregate": Code.FUNCTION, "trigger": Code.TRIGGER, "rule": Code.RULE, "policy": Code.POLICY, "view": Code.VIEW,
    "operator": Code.OPERATOR, "cast": Code.CAST,
}  # fmt: skip
"""Objects that a target may get, with the kind of code that they carry by themselves."""
_MODIFIERS = frozenset(
    ("or", "replace", "unique", "temp", "temporary", "local", "global", "unlogged", "constraint", "recursive",
     "materialized")
)  # fmt: skip
_ACTIONS = {
    ("owner", "to"): Code.OWNER,
    ("enable", "row"): Code.POLICY, ("disable", "row"): Code.POLICY, ("force", "row"): Code.POLICY,
    ("no", "force"): Code.POLICY,
    ("enable", "trigger"): Code.TRIGGER, ("disable", "trigger"): Code.TRIGGER,
    ("enable", "always"): Code.TRIGGER, ("enable", "replica"): Code.TRIGGER,
    ("enable", "rule"): Code.RULE, ("disable", "rule"): Code.RULE,
}  # fmt: skip
"""What ALTER does beside the object's own kind, by the first words of an action."""
_QUERY = "it runs a query of the source's with the rights of the target's role"
Words = Sequence[Word]


@lru_cache(256)
def carried(text: str) -> Carried:
    """Return what a statement carries. What is not understood is never run."""
    words = [word for word in tokens(text) if word != Word(Kind.SIGN, ";")]
    verb, *rest = [_text(word) for word in words[:12]] or [""]
    if verb in ("comment", "truncate"):
        return Carried()
    if verb in ("grant", "revoke"):
        is_of_objects = any(word == Word(Kind.WORD, "on") for word in words)
        return Carried(frozenset((Code.GRANT,))) if is_of_objects else Carried(never="it gives or takes a role")
    if verb == "refresh":
        return Carried(frozenset((Code.VIEW,)))
    if verb not in ("create", "alter", "drop"):
        return Carried(never=f"no target runs {verb.upper() or 'it'}")
    if rest[:2] == ["default", "privileges"]:
        return Carried(frozenset((Code.GRANT,)))
    at = next((at for at, word in enumerate(rest, 1) if word not in _MODIFIERS), len(words))
    kind = _text(words[at]) if at < len(words) else ""
    if kind not in _OBJECTS:
        return Carried(never=f"no target runs {verb.upper()} {kind.upper()}".rstrip())
    kinds = {kind_of} if (kind_of := _OBJECTS[kind]) is not None else set()
    if verb == "drop":
        return Carried(frozenset(kinds))
    return _made(verb, kind, words[at + 1 :], kinds)


def without(text: str, kinds: Collection[Code]) -> str:
    """Return an ALTER TABLE without its actions of these kinds, empty when none is left; another statement as it is.

    An expression is of its action: none goes for it.
    """
    placed = [one for one in placed_tokens(text) if one[0] != Word(Kind.SIGN, ";")]
    words = [word for word, _, _ in placed]
    if [_text(word) for word in words[:2]] != ["alter", "table"]:
        return text
    at = len(words) - len(_behind_name(words[2:]))
    kept, begin = list[str](), placed[at][1] if at < len(placed) else len(text)
    actions = parts(words[at:])
    for action in actions:
        if action and _code_of(action) not in kinds:
            kept.append(text[placed[at][1] : placed[at + len(action) - 1][2]])
        at += len(action) + 1
    if len(kept) == len(actions):
        return text
    return text[:begin] + ", ".join(kept) if kept else ""


def _made(verb: str, kind: str, words: Words, kinds: set[Code]) -> Carried:
    """Return what CREATE or ALTER carries. words: behind the kind of object."""
    if kind in ("function", "procedure", "routine", "aggregate", "view", "rule", "operator", "cast"):
        return Carried(frozenset(kinds))
    outside = list(_outside_parentheses(words))
    if kind == "table" and verb == "create" and any(word in ("as", "execute") for word in outside):
        return Carried(never=_QUERY)
    if kind == "schema" and verb == "create" and any(word in ("create", "grant") for word in outside):
        return Carried(never="it makes other objects with the schema")
    if "authorization" in outside and kind == "schema":
        kinds.add(Code.OWNER)
    if kind == "type" and verb == "create" and not _is_plain_type(words):
        kinds.add(Code.TYPE)
    if verb == "alter":
        kinds |= set(_of_actions(kind, words))
    if kind in ("table", "index", "domain", "statistics") and called(words):
        kinds.add(Code.EXPRESSION)
    return Carried(frozenset(kinds))


def _of_actions(kind: str, words: Words) -> Iterator[Code]:
    """Yield what the actions of an ALTER carry. words: from the object's name on."""
    first, *others = parts(words)
    for action in (_behind_name(first), *others):
        if (code := _code_of(action)) is not None:
            yield code
        if kind == "type" and [_text(word) for word in action[:2]] == ["set", "("]:
            yield Code.TYPE


def _code_of(action: Words) -> Code | None:
    """Return what an action of an ALTER carries beside the object's own kind."""
    first, second, *_ = [*(_text(word) for word in action[:2]), "", ""]
    return _ACTIONS.get((first, second))


def _behind_name(words: Words) -> Words:
    """Return the words behind the name of the object that an ALTER is about."""
    at = 2 if [_text(word) for word in words[:2]] == ["if", "exists"] else 0
    at += [_text(word) for word in words[at : at + 1]] == ["only"]
    at += 1
    while words[at : at + 1] == [Word(Kind.SIGN, ".")]:
        at += 2
    return words[at + 1 :] if words[at : at + 1] == [Word(Kind.SIGN, "*")] else words[at:]


def _is_plain_type(words: Words) -> bool:
    """Is it an enum or a composite type?"""
    at = next((at for at, word in enumerate(words) if word == Word(Kind.WORD, "as")), None)
    return at is not None and at + 1 < len(words) and _text(words[at + 1]) in ("enum", "(")


def _outside_parentheses(words: Words) -> Iterator[str]:
    depth = 0
    for word in words:
        if word.kind is Kind.SIGN and word.text in "()":
            depth += 1 if word.text == "(" else -1
        elif depth == 0:
            yield _text(word)


def _text(word: Word) -> str:
    return word.text if word.kind in (Kind.WORD, Kind.SIGN) else ""
