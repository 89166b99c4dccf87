"""One tokenizer for all languages: it loses nothing, never fails, and says what is not closed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.sql import languages
from airflow_ddlrepl.sql.expressions.words import NotOneText, words
from airflow_ddlrepl.sql.languages import CONDITION, EXPRESSION, FORMULA, ORACLE, POSTGRES, SCRIPT
from airflow_ddlrepl.sql.tokens import Kind, Language, comments, tokens

LANGUAGES = {name: one for name, one in vars(languages).items() if isinstance(one, Language)}
SIGNS = [
    "'", '"', "`", "''", "$$", "$x$", "--", "\n", "\r\n", "/*", "*/", "/*!", "#", "\\", "E'", "U&'", 'U&"', "n'", "q'[",
    "]'", "q'!", "!'", "b'01'", "a", "ä$", "1.5", "0x1F", "1..2", "::", ":=", "=>", "<>", "(", ")", "[", "]", ",", ";",
    " ", "\t", "\xa0", "\u3000", "\0", "@", "&", "&\n", "“", "\n/\n", "\ud800", "€",
]  # fmt: skip
WITH_COMMENTS = [name for name, one in LANGUAGES.items() if any(rule.kind is Kind.COMMENT for rule in one.rules)]
TEXTS = st.lists(st.one_of(st.sampled_from(SIGNS), st.text(max_size=3)), max_size=12).map("".join)


@pytest.mark.parametrize("name", LANGUAGES)
@given(text=TEXTS)
def test_tokens_and_the_blanks_between_them_are_the_text(name: str, text: str) -> None:
    at, whole = 0, ""
    for token in tokens(text, LANGUAGES[name]):
        between = text[at : token.start]
        assert not between.strip() and (not between or LANGUAGES[name].blanks), (token, between)
        assert token.text == text[token.start : token.end] and token.text
        whole, at = f"{whole}{between}{token.text}", token.end
    assert not text[at:].strip() and whole + text[at:] == text


@pytest.mark.parametrize("name", WITH_COMMENTS)
@given(text=TEXTS)
def test_comments_are_those_among_the_tokens(name: str, text: str) -> None:
    found = [token for token in tokens(text, LANGUAGES[name]) if token.kind is Kind.COMMENT]
    assert list(comments(text, LANGUAGES[name])) == found


@pytest.mark.parametrize("name", LANGUAGES)
@given(text=TEXTS)
def test_a_text_is_read_on_from_any_of_its_tokens(name: str, text: str) -> None:
    language = LANGUAGES[name]
    whole = list(tokens(text, language))
    for number in range(0, len(whole), 3):
        assert list(tokens(text, language, whole[number].start)) == whole[number:]


OPENED = ["'a", '"a', "a 'b''", 'a "b""', "/* a", "x || '", "$$", "$a$b", "a -- b", "'\0'", '"\0"', '""', "E'a'", "a;"]


@pytest.mark.parametrize("text", OPENED)
@given(before=st.sampled_from(["", "1 + ", "lower('a') || ", "'b'::text "]), behind=st.sampled_from(["", " ", " + 1"]))
def test_what_is_not_closed_is_no_expression(text: str, before: str, behind: str) -> None:
    with pytest.raises(NotOneText):
        words(before + text + behind)


@given(text=TEXTS)
def test_an_expression_has_only_what_the_catalog_prints(text: str) -> None:
    """Whatever is read as an expression's words is read the same by the rules of statements: nothing hides in it."""
    try:
        found = words(text)
    except NotOneText:
        return
    strict = list(tokens(text, EXPRESSION))
    assert len(found) == len(strict) + 1 and Kind.OTHER not in [token.kind for token in strict]
    lenient = list(tokens(text, POSTGRES))
    assert not [token for token in lenient if token.kind is Kind.COMMENT or token.text == ";"]
    quoted = Kind.STRING, Kind.NAME
    ours = [token[2:] for token in strict if token.kind in quoted]
    assert ours == [token[2:] for token in lenient if token.kind in quoted]


@pytest.mark.parametrize("language", [CONDITION, SCRIPT])
@pytest.mark.parametrize("text", ["'a", "/* a", "a 'b'' ", '"a', "q'[a"])
def test_what_is_not_closed_is_told_by_its_kind(language: Language, text: str) -> None:
    (opened,) = [token for token in tokens(text, language) if token.kind is Kind.OPEN]
    assert opened.start in (text.index(opened.text), text.rindex(opened.text))


@pytest.mark.parametrize("text", ["'a", '"a', "a ; b", "a # b", "/* 'x"])
def test_what_a_formula_has_no_use_for_is_told_by_its_kind(text: str) -> None:
    assert Kind.OTHER in [token.kind for token in tokens(text, FORMULA)]


@pytest.mark.parametrize("text", ["q'[it's]' x", "nQ'{a}b}' x", "q'!a!' x", "N'it''s' x", "q'(a)' x"])
@pytest.mark.parametrize("language", [ORACLE, CONDITION, SCRIPT])
def test_texts_in_quotes_of_ones_own_end_with_their_counterpart(language: Language, text: str) -> None:
    found = [token for token in tokens(text, language) if token.kind is not Kind.SPACE]
    assert [token.kind for token in found] == [Kind.STRING, Kind.WORD] and found[1].text == "x"


@pytest.mark.parametrize("unit", [" ", "q'[", "/*", "'", '"', "$$", "$a$", "n'", "--", "\\", "'' ", "*/", "&", "\n"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_long_texts_without_ends_are_split_to_their_end(name: str, unit: str) -> None:
    """Where each beginning looked for its end up to the end of the text, this would take hours."""
    text = unit * 50_000
    found = list(tokens(text, LANGUAGES[name]))
    assert sum(len(token.text) for token in found) + _blanks(text, LANGUAGES[name]) >= len(text)


def _blanks(text: str, language: Language) -> int:
    return sum(map(text.count, " \n")) if language.blanks else 0
