"""Messages as JSON: what is written is read as the same message."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import Command, DdlLcr, Message, MessageClass, RowLcr, UserMessage
from airflow_ddlrepl.streams.rules.written_messages import message_of, written

NO_NUL = st.characters(exclude_characters="\0", exclude_categories=["Cs"])  # as no database has one in a text
NAMES = st.text(NO_NUL, min_size=1, max_size=9)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.text(NO_NUL, max_size=9),
    st.decimals(allow_nan=False),
    st.integers(),
    st.datetimes(timezones=st.sampled_from([None, UTC])),
    st.binary(max_size=9),
)
COLUMNS = st.dictionaries(NAMES, VALUES, max_size=4)
LCRS: dict[str, Any] = {
    "source_database": st.sampled_from(["", "DBS1.EXAMPLE.COM", "dbs1", 'my "db"']),
    "tag": st.none() | st.binary(max_size=4),
    "transaction_id": st.sampled_from(["", "7", "1.2.3"]),
    "scn": st.none() | st.integers(0),
    "commit_scn": st.none() | st.integers(0),
    "source_time": st.none() | st.datetimes(timezones=st.sampled_from([None, UTC])),
    "extra": st.dictionaries(st.sampled_from(["username", "session#"]), st.text(NO_NUL, max_size=3) | st.integers()),
    "message_class": st.sampled_from(MessageClass),
}
SOME = st.none() | NAMES
MESSAGES = st.one_of(
    st.builds(RowLcr, owner=NAMES, name=NAMES, command=st.sampled_from(Command), old=COLUMNS, new=COLUMNS, **LCRS),
    st.builds(
        DdlLcr,
        owner=SOME,
        name=SOME,
        command=st.sampled_from(["ALTER TABLE", "CREATE INDEX", "GRANT"]),
        object_type=st.sampled_from(["", "TABLE"]),
        base_owner=SOME,
        base_name=SOME,
        text=st.text(NO_NUL, max_size=9),
        current_schema=st.text(NO_NUL, max_size=3),
        logon_user=st.text(NO_NUL, max_size=3),
        **LCRS,
    ),
    st.builds(
        UserMessage,
        type=NAMES.filter(lambda name: "." not in name).map(lambda name: f"own.{name}"),
        fields=COLUMNS,
        message_class=st.sampled_from(MessageClass),
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # a loaded machine draws letters of all scripts slowly
@given(message=MESSAGES, case=st.sampled_from(NameCase))
def test_what_is_written_is_read_as_the_same(message: Message, case: NameCase) -> None:
    text = json.dumps(written(message, case))
    assert text.isascii()
    assert message_of(json.loads(text), case) == message
    assert message_of(json.loads(text, parse_float=Decimal), case) == message


def test_how_it_is_written() -> None:
    lcr = RowLcr(
        "hr", "Jobs", "dbs1", b"\x0a", command=Command.UPDATE, old={"id": Decimal(1)}, new={"pay": Decimal("1.5")}
    )
    assert written(lcr, NameCase.LOWER) == {
        "object": 'hr."Jobs"', "command": "UPDATE", "old": {"id": 1}, "new": {"pay": 1.5}, "source_database": "dbs1",
        "tag": "0A", "class": "captured",
    }  # fmt: skip
    values = {"A": Decimal("0.1000000000000000055511151231257827"), "B": Decimal("NaN"), "C": Decimal("1.50"), "D": 0.5}
    assert written(UserMessage("OWN.M", values)) == {
        "type": "OWN.M",
        "fields": {"A": {"number": "0.1000000000000000055511151231257827"}, "B": {"number": "NaN"},
                   "C": {"number": "1.50"}, "D": 0.5},
    }  # fmt: skip
    assert written(UserMessage("OWN.M", {"A": date(2024, 1, 31)}))["fields"] == {"A": {"date": "2024-01-31"}}
    assert message_of({"type": "own.m", "fields": {"a": {"date": "2024-01-31"}}}) == UserMessage(
        "OWN.M", {"A": datetime(2024, 1, 31)}
    )


def test_ddl_without_a_table_or_with_none_that_is_known() -> None:
    of_table = message_of({"object": "hr.t", "command": "alter table"})
    assert isinstance(of_table, DdlLcr) and (of_table.base_owner, of_table.base_name) == ("HR", "T")
    without = message_of({"object": ["hr", None], "command": "alter table", "base": None})
    assert isinstance(without, DdlLcr) and (without.owner, without.name, without.base_owner) == ("hr", None, None)


@pytest.mark.parametrize(
    "change",
    [
        {"object": ["hr", None], "command": "INSERT"},
        {"object": "hr.t", "command": "INSERT", "new": {"a": {"number": "x"}}},
        {"object": "hr.t", "command": "INSERT", "new": {"a": {"date": 5}}},
        {"object": "hr.t", "command": "INSERT", "extra": [1]},
    ],
)
def test_what_can_not_be_read(change: dict[str, Any]) -> None:
    with pytest.raises(RuleError) as found:
        message_of(change)
    assert found.value.code == "RUL-126"


def test_values_that_are_none_of_a_column() -> None:
    with pytest.raises(RuleError, match="of type set is no value") as found:
        written(UserMessage("OWN.M", {"A": {1}}))
    assert found.value.code == "RUL-126"
