"""What WHERE, FILTER and the right side of a COLMAP entry become, and what is refused at which character."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.goldengate.prm.conditions import (
    Untranslatable,
    translate_condition,
    translate_expression,
)
from airflow_ddlrepl.notation.condition.parser import condition, expression, spelled


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1 AND b = 'it''s'", "((a = 1) AND (b = 'it''s'))"),
        ("State <> 'x' or (b*2 > .5)", "((state <> 'x') OR ((b * 2) > 0.5))"),
        ("a = @NULL AND b <> @NULL", "((a IS NULL) AND (b IS NOT NULL))"),
        ("amount = @PRESENT AND amount > 10000", "(amount > 10000)"),
        ("@STREQ (region, 'EU')", "(region = 'EU')"),
        ("@streq(region, 'EU') = 0", "(region IS DISTINCT FROM 'EU')"),
        ("@VALONEOF (c, 'a', 'b') > 0", "(c IN ('a', 'b'))"),
        ("@VALONEOF (c, 'a') = 0 AND NOT x = -1", "(((c NOT IN ('a')) OR (c IS NULL)) AND (NOT (x = (- 1))))"),
        ("@COMPUTE (a * b) > 10", "((a * b) > 10)"),
        ("amount", "(amount <> 0)"),
        ("((a))", "(a <> 0)"),
        ("\"Mixed\" != 'x'", "(\"Mixed\" <> 'x')"),
    ],
)
def test_conditions(text: str, found: str) -> None:
    part = translate_condition(text, is_ansi=True).part
    assert spelled(part) == found
    assert spelled(condition(found)) == found


def test_double_quotes_are_around_texts_unless_the_file_says_otherwise() -> None:
    old, new = (translate_condition('b = "x"', is_ansi=is_ansi) for is_ansi in (False, True))
    assert (spelled(old.part), old.in_doubt) == ("(b = 'x')", ('"x"',))
    assert (spelled(new.part), new.in_doubt) == ("(b = x)", ())


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        ("@STRFIND (a, 'x') > 0", 0, "@STRFIND has no counterpart"),
        ("@RANGE (1, 3)", 0, "splits a table's rows between processes"),
        ("a = 1 AND ON UPDATE", 10, "ON has no counterpart: a row condition is for all kinds of changes"),
        ("a / 2 = 1", 2, "databases divide whole numbers differently"),
        ("a > ", 3, "a value is expected here"),
        ("h.a = 1", 0, "a column has its own name alone"),
        ("a = 1 b", 6, "b is not expected here"),
        ("upper(a) = 'X'", 0, "upper is a function"),
        ("@STREQ (a, 'b') = 2", 0, "is compared with 1 or 0"),
        ("5 = @NULL", 4, "@NULL stands behind = or <> and a column"),
        ("'x'", 0, "it is no condition"),
        ("a = 'x", 4, "' is not expected here"),
    ],
)
def test_what_is_refused(text: str, at: int, why: str) -> None:
    with pytest.raises(Untranslatable) as caught:
        translate_condition(text, is_ansi=True)
    assert caught.value.at == at
    assert why in caught.value.why


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (" src", "src"),
        ('"Src"', '"Src"'),
        ("'EU'", "'EU'"),
        ("-5", "(- 5)"),
        ("a * 2 + b", "((a * 2) + b)"),
        ("@GETENV ('GGHEADER', 'COMMITTIMESTAMP')", "{commit_time}"),
        ('@GetEnv ("TRANSACTION", "CSN")', "{position}"),
    ],
)
def test_values_of_columns(text: str, found: str) -> None:
    assert spelled(translate_expression(text, is_ansi=True).part) == found
    assert spelled(expression(found)) == found


@pytest.mark.parametrize("text", ["@DATENOW ()", "@GETENV ('GGHEADER', 'LAG')", "@STREQ (a, 'b')", "a = 1", "lookup.b"])
def test_values_that_are_refused(text: str) -> None:
    with pytest.raises(Untranslatable):
        translate_expression(text, is_ansi=True)
