"""Only DDL records that our own triggers have signed, in their own transaction, count; all else is a gap."""

from __future__ import annotations

import json

import pytest

from airflow_ddlrepl.engines.postgres.pgoutput.control_messages import LogicalMessage, Stamp, message_event
from airflow_ddlrepl.engines.postgres.pgoutput.message_signature import KnownKey, NoSignatures, signatures_of
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.position import LogKey
from tests.support.signing import KEY, signed

DDL = {"v": 1, "kind": "ddl", "tag": "DROP TABLE", "tables": [], "dropped": [[5, ["public", "größe"]]]}


def kind(content: bytes, xid: int = 7, key: bytes | None = KEY, encoding: str = "utf-8") -> EventKind:
    at = Stamp(LogKey(10, 0), xid, 0, "")
    (is_ours,) = (KnownKey(key) if key else NoSignatures()).verify([content])
    event = message_event(LogicalMessage(True, 1, "ddlrepl", content), at, encoding, is_ours=is_ours)
    assert event is not None
    if event.kind is EventKind.DDL:
        assert str(event.dropped[0][1]) == "public.größe"
    return event.kind


@pytest.mark.parametrize("xid", [7, 7 + (3 << 32)])
@pytest.mark.parametrize("encoding", ["utf-8", "iso8859-1"])
def test_a_signed_record_counts_in_its_transaction(xid: int, encoding: str) -> None:
    assert kind(signed(DDL, xid), 7, encoding=encoding) is EventKind.DDL


def test_what_is_forged_is_a_gap() -> None:
    good = signed(DDL, 7)
    assert kind(json.dumps({**DDL, "xid": "7"}).encode()) is EventKind.GAP
    assert kind(signed(DDL, 7, b"another key")) is EventKind.GAP
    assert kind(good, 8) is EventKind.GAP, "written once more by another transaction"
    assert kind(good, key=None) is EventKind.GAP, "where no triggers of ours are"
    assert kind(good.replace(b"[[5,", b"[[6,").replace(b"[[5, ", b"[[6, ")) is EventKind.GAP
    assert kind(good + b" ") is EventKind.GAP
    assert kind(good.replace(b'"xid": "7"', b'"xid": 7')) is EventKind.GAP


@pytest.mark.parametrize("is_function", [True, False])
def test_a_role_that_may_not_check_signatures_is_told(is_function: bool) -> None:
    with pytest.raises(SourceError, match="SRC-144"):
        signatures_of(lambda sql: (False, is_function), "ddlrepl_shop", lambda: None)
    assert isinstance(signatures_of(lambda sql: None, "ddlrepl_shop", lambda: None), NoSignatures)


def test_with_a_helper_schema_of_an_earlier_version_the_key_is_read() -> None:
    def ask(query: str) -> tuple[object, ...]:
        return (True, False) if "pg_roles" in query else (KEY.hex(),)

    found = signatures_of(ask, "ddlrepl_shop", lambda: None)
    assert isinstance(found, KnownKey) and found.verify([signed(DDL, 7), b"{}"]) == [True, False]
    assert KEY.hex() not in repr(found)
