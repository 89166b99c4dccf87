"""An error says which target, and which client of Streams, it is about, once."""

from __future__ import annotations

import pickle

import pytest

from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
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
    assert error.message_with_names == named
    assert ("[target a]" in str(error)) is (named != message)
    told = pickle.loads(pickle.dumps(about_target("a", TargetError(message, code="TGT-101"))))
    assert (told.target, told.message) == ("a", named) and "[target a]" not in str(told)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("function f failed", "propagation p: function f failed"),
        ("queue q has no message for propagation p", "queue q has no message for propagation p"),
        ("propagation p2 is not there", "propagation p: propagation p2 is not there"),
    ],
)
def test_a_client_is_named_where_the_message_does_not(message: str, named: str) -> None:
    isolation = FailureIsolation()
    with isolation.one("a", client="propagation p"):
        raise TargetError(message, code="TGT-101", hint="do it")
    with pytest.raises(TargetError) as raised:
        isolation.end()
    told = pickle.loads(pickle.dumps(raised.value))
    assert (told.client, told.message) == ("propagation p", message)
    assert str(told) == f"TGT-101: {named} [target a]\n  hint: do it"
    assert told.message_with_names == f"target a: {named}"
