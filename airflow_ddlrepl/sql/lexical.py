r"""This module has PostgreSQL's lexical rules as patterns: what readers of its SQL texts take for a word or a string.

They are those of the server's own lexer (scan.l). White space, digits and letters are ASCII's; every other character
above 0x7F is one of a name, whatever Unicode calls it: `€$x$` is a name, and so is a no-break space. A string goes on
behind a line feed, in the same way. Only ASCII's letters have a lower case.
"""

from __future__ import annotations

import re

SPACE = r"[ \t\n\r\f\v]"
_HIGH = r"\x80-\U0010ffff"
START = rf"[A-Za-z_{_HIGH}]"
WORD = rf"{START}[A-Za-z0-9_${_HIGH}]*+"
COMMENT = r"--[^\n\r]*+"
DOLLAR = rf"\$(?:{START}[A-Za-z0-9_{_HIGH}]*+)?\$"
NUMBER = (
    r"(?:0[xX][0-9A-Fa-f_]++|0[oObB][0-9_]++|[0-9][0-9_]*+(?:\.(?!\.)[0-9_]*+)?+|\.[0-9][0-9_]*+)"
    rf"(?:[eE][-+]?[0-9]++)?+(?:{WORD})?+"  # what the server calls trailing junk is no other token
)
_GOES_ON = rf"'(?:[ \t\f\v]|{COMMENT})*+[\n\r](?:{SPACE}|{COMMENT}[\n\r])*+'"
_PLAIN = r"(?:[^']|'')*+"
_ESCAPED = r"(?:[^'\\]|\\.|'')*+"
STRING = (
    rf"[eE]'{_ESCAPED}(?:{_GOES_ON}{_ESCAPED})*+(?:'|\\?\Z)"
    rf"|(?:[bBxXnN]|[uU]&)?'{_PLAIN}(?:{_GOES_ON}{_PLAIN})*+(?:'|\Z)"
)
"""It needs re.DOTALL. A string or name that is not closed runs to the end of the text."""
QUOTED = r'(?:[uU]&)?"(?:[^"]|"")*+(?:"|\Z)'
NAME_IN_LINE = r'"[^"\n]*+"'
IN_LINE = rf"'[^'\n]*+'|{NAME_IN_LINE}"
TEXT = r"'(?:[^']|'')*+'"
NAME = r'"(?:[^"]|"")++"'
"""What is quoted in a line; a text and a name in quotes, closed and without prefixes, as all dialects write them."""
PLAIN_TEXT = r"'[^']*+'"
PLAIN_NAME = r'"[^"]++"'
"""The same without quotes in them; no name of Oracle has one."""
OWN_QUOTES = "|".join(
    rf"[nN]?[qQ]'{re.escape(opening)}.*?{re.escape(closing)}'"
    for opening, closing in zip('[{(<!|~^#"', ']})>!|~^#"', strict=True)
)
"""A text of Oracle's in quotes of its own, q'[…]'. It needs re.DOTALL."""
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = str.maketrans(_UPPER, _UPPER.lower())
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{4})|\+([0-9A-Fa-f]{6})|(\\))")
_MARK = re.compile(r"/\*|\*/")


def lower(word: str) -> str:
    """Return the name that a word without quotes stands for."""
    return word.lower() if word.isascii() else word.translate(_LOWER)


def name_in(quoted: str) -> str:
    r"""Return the name that stands in quotes or backticks, be it with Unicode escapes (U&"d\0061ta")."""
    if quoted[0] == "`":
        return quoted[1:-1].replace("``", "`")
    begin = quoted.index('"')
    name = quoted[begin + 1 : -1 if quoted[-1] == '"' and len(quoted) > begin + 1 else None].replace('""', '"')
    return _ESCAPE.sub(_escaped, name) if begin else name


def text_in(quoted: str) -> str:
    """Return the text that stands in quotes as Oracle writes it: 'it''s', N'…', q'[…]'."""
    body = quoted.lstrip("nN")
    return body[3:-2] if body[0] in "qQ" else body[1:-1].replace("''", "'")


def _escaped(match: re.Match[str]) -> str:
    number = int(match[1] or match[2] or "5c", 16)
    return chr(number) if number <= 0x10FFFF else match[0]


def end_of_comment(text: str, at: int) -> int:
    """Return where the comment that begins here ends; comments nest in PostgreSQL."""
    depth = 0
    for match in _MARK.finditer(text, at):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)
