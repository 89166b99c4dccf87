"""SQL texts are split into tokens and statements as PostgreSQL's own lexer does it."""

from __future__ import annotations

import random

import psycopg
import pytest
from psycopg.pq import ExecStatus

from airflow_ddlrepl.ddl.sql.query_string import split
from airflow_ddlrepl.ddl.sql.statement import has_using, is_doubtful, statements
from airflow_ddlrepl.sql.comments import split_comments
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.lexer import canonical, tokens
from airflow_ddlrepl.sql.scan import scan
from airflow_ddlrepl.sql.tokens import Kind
from tests.conftest import Databases

NO_BREAK, WIDE_SPACE = "\u00a0", "\u3000"
CASES = {
    "€$x$ ;$x$": ["€$x$", ";", "$x$"],
    f"a{NO_BREAK}b": [f"a{NO_BREAK}b"],
    f"a{WIDE_SPACE}b;": [f"a{WIDE_SPACE}b", ";"],
    "\u0663 1": ["\u0663", "1"],
    "GRÖSSE": ["grÖsse"],
    "'a'\n'b;'": ["'a'\n'b;'"],
    "'a' 'b'": ["'a'", "'b'"],
    "'a' -- ;\n\n -- ';\n ';'": ["'a' -- ;\n\n -- ';\n ';'"],
    "E'a'\n'\\';' x": ["E'a'\n'\\';'", "x"],
    "E'a' '\\'; x": ["E'a'", "'\\'", ";", "x"],
    "x'41'": ["x'41'"],
    "xe'a\\'": ["xe", "'a\\'"],
    "$ä$ ; $ä$": ["$ä$ ; $ä$"],
    "$1$ ;": ["$", "1", "$", ";"],
    "1$$;$$": ["1", "$$;$$"],
    "a$$;$$": ["a$$", ";", "$$"],
    "/* /* */ ; */ x": ["x"],
    "+/* ; */-- ;\n-": ["+", "-"],
    'U&"d\\0061t\\+000061" u & "d"': ["data", "u", "&", "d"],
    '"a""b"': ['a"b'],
    "1e-5 1.5 .5 0x1F 1_000 1..2": ["1e-5", "1.5", ".5", "0x1F", "1_000", "1", ".", ".2"],
    "a::text": ["a", "::", "text"],
}
WORDS = "Straße", "_x1", "a$1", "€", "ĸé", "x\ud800y"


@pytest.mark.parametrize("text", CASES)
def test_tokens(text: str) -> None:
    assert [token.text for token in tokens(text)] == CASES[text]


@pytest.mark.parametrize("text", CASES)
def test_statements_for_goldengate_and_streams_are_split_alike(text: str) -> None:
    found = [piece for piece in scan(text, Dialect.POSTGRES) if piece.kind is not Kind.COMMENT]
    theirs = [Dialect.POSTGRES.fold(piece.value) if piece.kind is Kind.WORD else piece.value for piece in found]
    assert theirs == CASES[text]
    command, comments = split_comments(text, Dialect.POSTGRES)
    assert [token.text for token in tokens(command)] == CASES[text] or not comments


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_a_name_whatever_unicode_calls_it(word: str) -> None:
    (token,) = tokens(word)
    assert token.text == word.translate(str.maketrans("S", "s")) and canonical(f'"{token.text}"') == token.text


def test_no_name_hides_a_second_statement() -> None:
    hidden = "ALTER TABLE t ALTER c TYPE bigint; ALTER TABLE t ALTER c TYPE int USING 7"
    assert len(list(statements(f"ALTER TABLE €$x$ ADD x int; {hidden}; --$x$"))) == 3
    assert has_using("ALTER TABLE t ADD €$x$ int, ALTER c TYPE bigint USING c + 1 --$x$", None) is True
    assert has_using(f"ALTER TABLE t ALTER c TYPE bigint{NO_BREAK}-- USING c", None) is False


def test_a_string_with_backslashes_or_a_masked_password_is_doubtful() -> None:
    assert is_doubtful("SELECT 'a\\'") and is_doubtful("SELECT 'a'\n'\\'") and not is_doubtful("SELECT E'\\''")
    masked = "ALTER TABLE t ALTER a SET DEFAULT 'password'***'7'::int"
    assert is_doubtful(masked) and has_using(masked, None) is None and split(masked) == ()


FRAGMENTS = (
    "; SELECT 1", "; SELECT 'a'", ";", "; -- ;\n", " -- ;\n", " /* ; */", " /* /* */ ; */", "/*", "*/", "--", " ",
    "\n", "\t", ", 'a'", ", 'a;", ", E'\\';'", ", E'a'\n'\\';'", ", 'a'\n';'", ", 'a' -- '\n';'", ", 'a' /* */ ';'",
    "'", "''", ", $$;$$", ", $x$;$x$", ", $x$;", "$x$", " AS €$x$", ", 1 AS x$$", ", 1 AS a\xa0b", ", 1 AS \u3000",
    ', 1 AS "a;"', ', 1 AS U&"a;"', ", U&';'", ", N';'", ", x'4'", ", e';'", ", +/* ; */1", ", - -- ;\n1",
    ", 1*/* ; */2", ", @-- ;\n1", ", 1.", ", .5", ", 1e5", ", 1 AS e", " + 1", "(", ")", ", (1)", "$1", "\\",
    "\x0b", "\r", ", b'1'", "€", "\xa0",
)  # fmt: skip


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_the_server_sees_as_many_statements(databases: Databases) -> None:
    """A text of several statements can't be prepared: the server says so once it has read them all."""
    rng = random.Random(39)
    seen = {True: 0, False: 0}
    with psycopg.connect(databases.source, autocommit=True) as connection:
        for _ in range(6000):
            text = "SELECT 1" + "".join(rng.choices(FRAGMENTS, k=rng.randint(1, 6)))
            result = connection.pgconn.prepare(b"", text.encode())
            said = (result.error_message or b"").decode()
            if result.status == ExecStatus.FATAL_ERROR and ("syntax error" in said or "at or near" in said):
                continue
            has_many = "multiple commands" in said
            seen[has_many] += 1
            assert (len(list(statements(text))) > 1) is has_many, (text, said)
    assert min(seen.values()) > 200, seen
