"""Patterns for names, as HVR writes them: `*` any run, `?` one character, `[a-f]`, `[!a-f]`, `|` between alternatives.

They compare without regard to case, because unquoted names are folded before anybody sees them; a part in
double quotes is literal and compares exactly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import TableName

MAX_NAME_BYTES = 63
_PART = r'(?:"(?:[^"]|"")+"|\[[^\]]+\]|[^".\[])+'
_ONE_PART = re.compile(rf"^{_PART}$")
_TWO_PARTS = re.compile(rf"^({_PART})\.({_PART})$")
TOKEN = re.compile(r'"((?:[^"]|"")+)"|\[([!^]?)([^\]]+)\]|(\*)|(\?)|(\|)|(.)', re.DOTALL)
"""One part of a pattern; groups: quoted, negation, characters, star, question mark, bar, character."""


def matches(pattern: str, name: str) -> bool:
    """Does the name match one of the pattern's alternatives?"""
    return _compiled(pattern).fullmatch(name) is not None


def is_pattern(text: str) -> bool:
    """Has the text any character that is special in a pattern?"""
    return any(c in text for c in "*?[]|")


def split_table_pattern(pattern: str) -> tuple[str, str]:
    """`schema.table` → its two patterns. Raises ValueError when there aren't exactly two parts."""
    found = _TWO_PARTS.match(pattern)
    if not found:
        raise ValueError(f'{pattern!r} is not of the form schema.table, for example "public.*"')
    return found.group(1), found.group(2)


def table_patterns(texts: Iterable[str]) -> list[str]:
    """The patterns that a person gives for tables. Raises ConfigError CFG-112 for one that is not `schema.table`."""
    found = list(texts)
    for text in found:
        try:
            split_table_pattern(text)
        except ValueError as error:
            raise ConfigError(f"table {error}", code="CFG-112") from None
    return found


def exact_pattern(name: TableName) -> str:
    """The `schema.table` pattern that matches this table and no other."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name)


def matches_table(pattern: str, name: TableName) -> bool:
    """Does the `schema.table` pattern match this table?"""
    schema, table = split_table_pattern(pattern)
    return matches(schema, name.schema) and matches(table, name.name)


def split_name_pattern(pattern: str) -> tuple[str, ...]:
    """A pattern for the name alone, or for schema.name → its one or two patterns. Raises ValueError for more.

    A dot in double quotes is one of the name's.
    """
    return (pattern,) if "." not in pattern or _ONE_PART.match(pattern) else split_table_pattern(pattern)


def matches_name(pattern: str, name: TableName) -> bool:
    """Does a pattern for the name alone, or for schema.name, match this table?"""
    *schema, table = split_name_pattern(pattern)
    return matches(table, name.name) and all(matches(one, name.schema) for one in schema)


def matches_no_name(pattern: str) -> bool:
    """Is there an alternative that no name can match: it is empty, or longer than a name may be?"""
    sizes, is_open = [0], [False]
    for quoted, _, chars, star, one, alternative, char in TOKEN.findall(pattern):
        if alternative:
            sizes.append(0)
            is_open.append(False)
        elif star:
            is_open[-1] = True
        else:
            sizes[-1] += len(quoted.replace('""', '"').encode()) or bool(chars or one) or len(char.encode())
    return any(size > MAX_NAME_BYTES or (not size and not more) for size, more in zip(sizes, is_open, strict=True))


def matches_new_table(name: TableName, pattern: str, ignore: str | None, schema: str | None) -> bool:
    """Does a new table of that name match, and not `but`? schema: the one that is looked at; None: any."""
    if not matches(pattern, name.name) or (ignore is not None and matches(ignore, name.name)):
        return False
    return schema is None or matches(schema, name.schema)


def any_matches(patterns: Iterable[str], name: TableName) -> bool:
    """Does one of the `schema.table` patterns match this table?"""
    return any(matches_table(pattern, name) for pattern in patterns)


def is_selected(name: TableName, patterns: Collection[str]) -> bool:
    """Is the table one of those that a command was given? Without a pattern it is about all of them."""
    return not patterns or any_matches(patterns, name)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(as_regex(m) for m in TOKEN.finditer(pattern)), re.DOTALL)


def as_regex(match: re.Match[str]) -> str:
    """What a match of TOKEN stands for."""
    quoted, negated, chars, star, one, alternative, char = match.groups()
    if quoted:
        return re.escape(quoted.replace('""', '"'))
    if chars:
        body = re.sub(r"([\\\[\]^&~])", r"\\\1", chars)
        return f"(?i:[{'^' if negated else ''}{body}])"
    if star:
        return ".*"
    if one:
        return "."
    if alternative:
        return "|"
    return f"(?i:{re.escape(char)})"
