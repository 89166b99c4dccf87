"""Patterns of rules are answered in a time that nobody who writes values can stretch."""

from __future__ import annotations

import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.evaluation import messages
from airflow_ddlrepl.streams.evaluation.messages import holds, is_like, like_pattern
from airflow_ddlrepl.streams.messages import Command, RowLcr
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.time_limit import TimeLimit

LETTERS = st.text(st.sampled_from("ab%_\\.[\n"), max_size=8)


@given(LETTERS, LETTERS, st.sampled_from(["", "\\", "a"]))
def test_like_is_answered_as_by_the_regular_expression(value: str, pattern: str, escape: str) -> None:
    assert is_like(value, pattern, escape) == (like_pattern(pattern, escape).fullmatch(value) is not None)


def test_like_does_not_try_all_ways_to_divide_a_text() -> None:
    assert not is_like("a" * 100_000 + "c", "%a" * 50 + "%b", "")


def test_a_pattern_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "SECONDS", 0.2)
    lcr = RowLcr("hr", "t", "dbs1", command=Command.INSERT, old={}, new={"NOTE": "a" * 60 + "!"})
    condition = parse("REGEXP_LIKE(:dml.get_value('NEW', 'NOTE').AccessVARCHAR2(), '^(a+)+$')")
    with pytest.raises(RuleError, match="RUL-162"):
        holds(condition, lcr)


def test_a_limit_inside_another_one_leaves_that_one() -> None:
    before = signal.getitimer(signal.ITIMER_REAL)[0]
    with TimeLimit(60) as outer:

        def work(_: None) -> float:
            with TimeLimit(5) as inner:
                inner(time.sleep, 0.01)
            return signal.getitimer(signal.ITIMER_REAL)[0]

        assert 50 < outer(work, None) < 60
    assert before - 5 < signal.getitimer(signal.ITIMER_REAL)[0] <= before
