"""An error says which target it is about, once."""

from __future__ import annotations

import pickle

import pytest

from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.flow.run.targets import about_target


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("a table can't be read", "target a: a table can't be read"),
        ("target away does not answer", "target a: target away does not answer"),
        ("target a-b does not answer", "target a: target a-b does not answer"),
        ("target a does not answer", "target a does not answer"),
        ("target a: it does not answer", "target a: it does not answer"),
    ],
)
def test_a_target_is_named_where_the_message_does_not(message: str, named: str) -> None:
    error = TargetError(message, code="TGT-101", target="a")
    assert error.message_with_target == named
    assert ("[target a]" in str(error)) is (named != message)
    told = pickle.loads(pickle.dumps(about_target("a", TargetError(message, code="TGT-101"))))
    assert (told.target, told.message) == ("a", named) and "[target a]" not in str(told)
