"""Transactions of ignored sessions in the stream: rows are left out and counted, wherever the session is named."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.config.sections.ignored_sessions import IgnoredSessions, KnownBy, of_labels
from airflow_ddlrepl.engines.postgres.pgoutput.decoder import Decoder
from airflow_ddlrepl.engines.postgres.pgoutput.ignored import IgnoredTransactions
from airflow_ddlrepl.engines.postgres.pgoutput.message_signature import KnownKey
from airflow_ddlrepl.model.change import EventKind, counted
from airflow_ddlrepl.model.position import Position
from tests.postgres.pgoutput.test_decoder import INT4, begin, commit, logical, relation, row
from tests.support.signing import KEY, signed

SESSIONS = IgnoredSessions(origins=("feed*",), names=("purge",), roles=("batch",), known_by=KnownBy.TRIGGERS)


def insert(value: int) -> bytes:
    return b"I" + (1).to_bytes(4, "big") + b"N" + row([value], [INT4], True)


def transaction(number: int, said_by: str, at: int, changes: int) -> list[bytes]:
    """A transaction of some inserts that names its session before the change of that number."""
    said = signed({"v": 1, "kind": "role", "role": "batch"}, number)
    says = {"name": logical("ddlrepl.session", b"purge"), "role": logical("ddlrepl.role", said)}
    lsn = 100 * number
    found = [insert(10 * number + i) for i in range(changes)]
    if said_by in says:
        found.insert(at % (changes + 1), says[said_by])
    else:
        found.insert(at % (changes + 1), logical("ddlrepl.session", b"an application"))
    head = [b"O" + bytes(8) + b"feed_b\0"] if said_by == "origin" else []
    return [begin(lsn, number), *head, relation(1, [("id", INT4, True)]), *found, commit(lsn)]


def read(messages: list[bytes], cuts: list[int], known: dict[int, str]) -> tuple[list[int], IgnoredTransactions]:
    ignored = IgnoredTransactions(SESSIONS, known)
    decoder = Decoder(Position(0), Position(1 << 60), "binary", {}, signatures=KnownKey(KEY), ignored=ignored)
    ids: list[int] = []
    places = [0, *sorted(c % (len(messages) + 1) for c in cuts), len(messages)]
    for start, stop in pairwise(places):
        decoded = decoder.feed(pa.array(messages[start:stop], pa.binary()))
        ids += [one["a_id"] for _, batch in decoded.rows for one in batch.to_pylist()]
    decoder.finish()
    return ids, ignored


WAYS = ["origin", "name", "role", "nobody"]
LOG = st.lists(st.tuples(st.sampled_from(WAYS), st.integers(0, 4), st.integers(0, 4)), max_size=6)


@given(LOG, st.lists(st.integers(0, 60), max_size=6))
def test_what_is_captured_does_not_depend_on_where_the_session_is_named(
    log: list[tuple[str, int, int]], cuts: list[int]
) -> None:
    """One that is named behind changes that were returned already makes the reader begin again, once."""
    messages = [m for number, one in enumerate(log, 1) for m in transaction(number, *one)]
    ids, ignored = read(messages, cuts, {})
    if ignored.late:
        ids, ignored = read(messages, cuts, ignored.late)
    assert not ignored.late
    wanted = [10 * n + i for n, (way, _, changes) in enumerate(log, 1) if way == "nobody" for i in range(changes)]
    assert ids == wanted
    left = {one.tag: counted(one.statement) for one in ignored.events()}
    for label, way in (("origin feed*", "origin"), ("name purge", "name"), ("role batch", "role")):
        assert left.get(label, 0) == sum(changes for one, _, changes in log if one == way)
    assert all(one.kind is EventKind.IGNORED and one.key.lsn % 100 == 0 for one in ignored.events())


def test_what_was_ignored_can_be_ignored_again() -> None:
    again = of_labels(["origin feed*", "name purge", "role batch"])
    assert (again.origins, again.names, again.roles) == (("feed*",), ("purge",), ("batch",))
    assert not of_labels([])


@pytest.mark.parametrize(
    ("sessions", "says"),
    [
        ({"names": ["purge"]}, "known_by: triggers"),
        ({"names": ["ddlrepl*", "purge"]}, "'purge'"),
        ({"roles": ["batch"]}, "roles need `known_by: triggers`"),
        ({"roles": ["batch"], "known_by": "messages"}, "roles need"),
        ({"origins": [" "]}, "empty pattern"),
    ],
)
def test_what_the_log_does_not_have_is_refused(sessions: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        IgnoredSessions.model_validate(sessions)
    assert IgnoredSessions(names=("ddlrepl*",)).names
