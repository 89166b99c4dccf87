"""These are the languages of texts that are split into tokens: what each takes for a word, a text, a name, a comment.

| language | comments | texts | names in quotes | more |
|---|---|---|---|---|
| POSTGRES | `--`, nested | `'…'` goes on behind a line feed, E, B, X, N, U&, `$…$` | `"…"`, U& | `::` |
| EXPRESSION | refused | `'…'` closed, B | `"…"` closed, not empty | operators as the server prints them |
| MYSQL | `#`, `-- `, `/* */`; `/*!` is code | `'…'` and `"…"` with backslashes | backticks | |
| ORACLE | `--`, `/* */` | `'…'`, N, q'[…]' | `"…"` | |
| CONDITION (of Streams) | `--`, `/* */` | as in ORACLE | `"…"` | signs of two characters, `(+)` |
| SCRIPT (of SQL*Plus) | `--`, `//`, `#`, `/* */` | `'…'`, N, q'[…]' | `"…"` in a line | `:=`, a line with `/` |
| FORMULA (of GoldenGate) | none | `'…'` | `"…"` | `@functions` |
| PARAMETER_FILE (of GoldenGate) | blanked before | `'…'` and `"…"` in a line, or behind & | | `;`, typographic quotes |
| ARGUMENTS (of a parameter) | blanked before | `'…'` | `"…"` | `( ) , ;` |
"""

from __future__ import annotations

from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.tokens import Kind, Language, Rule

_CLOSED = {"[": "]", "{": "}", "(": ")", "<": ">"}


def _same(opening: str) -> str:
    return opening


def _block(opening: str) -> str:
    return "*/"


def _quoted(opening: str) -> str:
    """Return what closes a text of Oracle's in quotes of its own, such as q'[…]'."""
    return f"{_CLOSED.get(opening[-1], opening[-1])}'"


_BLOCK = Rule(Kind.COMMENT, r"/\*", _block)
_CLOSED_BLOCK = _BLOCK._replace(runs_on=False)
_ORACLE_WORD = r"[^\W\d][\w$#]*+"

POSTGRES = Language(
    (
        Rule(Kind.WORD, rf"{lexical.WORD}(?!['\"&])"),  # no prefix of a text or a name: most of a text, so it is first
        Rule(Kind.COMMENT, lexical.COMMENT),
        _BLOCK,
        Rule(Kind.STRING, lexical.DOLLAR, _same),
        Rule(Kind.STRING, lexical.STRING),
        Rule(Kind.NAME, lexical.QUOTED),
        Rule(Kind.WORD, lexical.WORD),
        Rule(Kind.NUMBER, lexical.NUMBER),
        Rule(Kind.SIGN, "::|."),
    ),
    blanks=lexical.SPACE,
    nests=True,
)

EXPRESSION = Language(
    (
        Rule(Kind.NAME, r"\"(?:[^\"\0]|\"\")++\""),
        Rule(Kind.STRING, r"(?:[bB](?='))?'(?:[^'\0]|'')*+'"),
        Rule(
            Kind.NUMBER,
            r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_.$\x80-\U0010ffff])",
        ),
        Rule(Kind.WORD, r"(?![uU]&['\"])[A-Za-z_][A-Za-z0-9_]*+(?![$'\"\x80-\U0010ffff])"),
        Rule(Kind.SIGN, r"::|=>(?![-+*/<>=~!@#%^&|`?])|[()\[\],.:]"),
        Rule(Kind.OPERATOR, r"[-+*/<>=~!@#%^&|`?]++"),
    ),
    blanks=r"[ \t\n\r\f]",  # PostgreSQL 15 takes no vertical tab for one
)
"""What PostgreSQL's catalog prints: it has no comment, semicolon, parameter, dollar quote or escape, all is closed, and
bare names are of ASCII's letters. Anything else is a token of kind `other`."""

MYSQL = Language(
    (
        Rule(Kind.WORD, r"[^\W\d][\w$]*+(?!['\"&])"),
        Rule(Kind.COMMENT, r"--(?=\s|\Z)[^\n\r]*+|#[^\n\r]*+"),
        Rule(Kind.SIGN, r"/\*M?!"),
        _BLOCK,
        Rule(
            Kind.STRING,
            r"""(?:[bBxXnN]|_\w+)?'(?:[^'\\]|\\.|'')*(?:'|\Z)|"(?:[^"\\]|\\.|"")*(?:"|\Z)""",
        ),
        Rule(Kind.NAME, r"`(?:[^`]|``)*+(?:`|\Z)"),
        Rule(Kind.WORD, r"[^\W\d][\w$]*+"),
        Rule(Kind.NUMBER, r"\d[\w.]*+"),
        Rule(Kind.SIGN, r"."),
    ),
    blanks=r"\s",
)
"""An executable comment is code: only the marks around it are left out."""

ORACLE = Language(
    (
        Rule(Kind.WORD, rf"{_ORACLE_WORD}(?!['\"&])"),
        Rule(Kind.COMMENT, lexical.COMMENT),
        _BLOCK,
        Rule(Kind.STRING, r"[nN]?[qQ]'\S", _quoted, runs_on=False),
        Rule(Kind.STRING, r"[nN]?'(?:[^']|'')*+(?:'|\Z)"),
        Rule(Kind.NAME, r'"(?:[^"]|"")*+(?:"|\Z)'),
        Rule(Kind.WORD, _ORACLE_WORD),
        Rule(Kind.NUMBER, r"\d[\w.]*+"),
        Rule(Kind.SIGN, r"."),
    ),
    blanks=r"\s",
)

CONDITION = Language(
    (
        Rule(Kind.COMMENT, lexical.COMMENT),
        _CLOSED_BLOCK,
        Rule(Kind.STRING, r"[nN]?[qQ]'\S", _quoted, runs_on=False),
        Rule(Kind.STRING, rf"[nN]?{lexical.TEXT}"),
        Rule(Kind.NAME, r'"(?:[^"]|"")*+"'),
        Rule(Kind.WORD, _ORACLE_WORD),
        Rule(Kind.NUMBER, r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"),
        Rule(Kind.OPEN, r"""['"]|/\*"""),
        Rule(Kind.SIGN, r"<>|!=|\^=|~=|<=|>=|\|\||=>|:=|::|\(\+\)|."),
    ),
    blanks=r"\s",
)

SCRIPT = Language(
    (
        _CLOSED_BLOCK,
        Rule(Kind.STRING, r"[nN]?[qQ]'[\[{(<!|~^#\"]", _quoted, runs_on=False),
        Rule(Kind.COMMENT, r"--[^\n]*+|//[^\n]*+|^[ \t]*+\#[^\n]*+"),
        Rule(Kind.STRING, r"[nN]?'(?:[^']|'')*'"),  # of quotes that are not closed, the last one is open
        Rule(Kind.NAME, lexical.NAME_IN_LINE),
        Rule(Kind.WORD, r"[A-Za-z][\w$\#]*+"),
        Rule(Kind.RUN, r"^[ \t]*+/[ \t]*+$"),
        Rule(Kind.SPACE, r"\s++"),
        Rule(Kind.OPEN, r"""['"]|/\*"""),
        Rule(Kind.SIGN, r"=>|:=|\|\||<<|>>|."),
    )
)

FORMULA = Language(
    (
        Rule(Kind.STRING, lexical.TEXT),
        Rule(Kind.NAME, r'"(?:[^"]|"")*+"'),
        Rule(Kind.FUNCTION, r"@\w++"),
        Rule(Kind.NUMBER, r"\d++(?:\.\d++)?|\.\d++"),
        Rule(Kind.WORD, r"[A-Za-z_]\w*(?:[$\#]\w*)*(?:\.\w+)*"),
        Rule(Kind.SIGN, r"<>|!=|\^=|<=|>=|[-=<>+*/%(),]"),
    ),
    blanks=r"\s",
)

TYPOGRAPHIC = "“”„‟‘’‚‛«»"
"""Typographic quotes, which an editor has put in place of ' and "."""
PARAMETER_FILE = Language(
    (
        Rule(Kind.STRING, r"""'(?:[^'\n&]|''|&[ \t]*\n|&)*'|"[^"\n]*+\""""),
        Rule(Kind.LINE, r"\n"),
        Rule(Kind.MORE, r"&[ \t]*(?=\n)"),
        Rule(Kind.SIGN, r"[;(),]"),
        Rule(Kind.OPEN, rf"""['"{TYPOGRAPHIC}]"""),
        Rule(Kind.WORD, rf"""[^\s;(),&'"{TYPOGRAPHIC}]++"""),
        Rule(Kind.SPACE, r"[^\S\n]++|&"),
    )
)
ARGUMENTS = Language(
    (
        Rule(Kind.STRING, lexical.TEXT),
        Rule(Kind.NAME, r'"(?:[^"]|"")*+"'),
        Rule(Kind.SIGN, r"[();,]"),
        Rule(Kind.OPEN, r"""['"]"""),
        Rule(Kind.WORD, r"""[^\s;(),'"]++"""),
    ),
    blanks=r"\s",
)

OF_DIALECT = {Dialect.POSTGRES: POSTGRES, Dialect.MYSQL: MYSQL, Dialect.ORACLE: ORACLE}
"""The language of statements in each dialect."""
