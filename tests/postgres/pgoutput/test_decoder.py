"""The pgoutput decoder against messages built by hand: whatever the batches, whatever the layouts."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_ddlrepl.engines.postgres.pgoutput.binary_types import SAFE_OIDS, binary_safe, wire_types
from airflow_ddlrepl.engines.postgres.pgoutput.decoder import EPOCH_2000, Decoder
from airflow_ddlrepl.engines.postgres.pgoutput.message_signature import KnownKey
from airflow_ddlrepl.engines.postgres.pgoutput.relation_layout import NeedsText
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.change import Event, EventKind, Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Column, Identity, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from tests.support.signing import KEY, signed

UNCHANGED = object()
INT4, TEXT, BOOL, NUMERIC, JSONB, CHAR = 23, 25, 16, 1700, 3802, 18
TYPES = [INT4, TEXT, BOOL, NUMERIC, JSONB]


def begin(lsn: int, xid: int = 7, at: int = 1_000) -> bytes:
    return b"B" + struct.pack(">QqI", lsn, at, xid)


def commit(lsn: int) -> bytes:
    return b"C" + struct.pack(">bQQq", 0, lsn, lsn + 8, 1_000)


def relation(
    number: int, columns: Sequence[tuple[str, int, bool]], identity: str = "d", name: str = "t", schema: str = "s"
) -> bytes:
    head = b"R" + struct.pack(">I", number) + schema.encode() + b"\0" + name.encode() + b"\0" + identity.encode()
    body = b"".join(
        struct.pack(">b", key) + n.encode() + b"\0" + struct.pack(">Ii", oid, -1) for n, oid, key in columns
    )
    return head + struct.pack(">h", len(columns)) + body


def wire(value: Any, oid: int, binary: bool) -> bytes:
    if value is None:
        return b"n"
    if value is UNCHANGED:
        return b"u"
    if not binary:
        text = {True: b"t", False: b"f"}[value] if oid == BOOL else str(value).encode()
        return b"t" + struct.pack(">i", len(text)) + text
    if oid == INT4:
        data = struct.pack(">i", value)
    elif oid == BOOL:
        data = bytes([value])
    else:
        data = (b"\1" if oid == JSONB else b"") + (value.encode() if isinstance(value, str) else value)
    return b"b" + struct.pack(">i", len(data)) + data


def row(values: Sequence[Any], oids: Sequence[int], binary: bool) -> bytes:
    return struct.pack(">h", len(values)) + b"".join(wire(v, o, binary) for v, o in zip(values, oids, strict=True))


def logical(prefix: str, content: bytes, lsn: int = 1, transactional: bool = True) -> bytes:
    return (
        b"M"
        + struct.pack(">bQ", transactional, lsn)
        + prefix.encode()
        + b"\0"
        + struct.pack(">I", len(content))
        + content
    )


def truncate(*numbers: int, flags: int = 0) -> bytes:
    return b"T" + struct.pack(">Ib", len(numbers), flags) + b"".join(struct.pack(">I", n) for n in numbers)


def feed(
    decoder: Decoder, messages: Iterable[bytes], cuts: Sequence[int] = ()
) -> tuple[dict[Any, list[dict[str, Any]]], list[Event], list[Any]]:
    """Rows per layout, events, transactions of the messages, fed in batches cut there."""
    messages = list(messages)
    rows: dict[Any, list[dict[str, Any]]] = {}
    events: list[Event] = []
    transactions: list[Any] = []
    places = [0, *sorted(c % (len(messages) + 1) for c in cuts), len(messages)]
    for start, stop in pairwise(places):
        decoded = decoder.feed(pa.array(messages[start:stop], pa.binary()))
        for layout, batch in decoded.rows:
            rows.setdefault(layout, []).extend(batch.to_pylist())
        events += decoded.events
        transactions += decoded.transactions.to_pylist() if decoded.transactions else []
    decoder.finish()
    return rows, events, transactions


def decoder(binary: bool = True, low: int = 0, high: int = 1 << 60) -> Decoder:
    return Decoder(Position(low), Position(high), "binary" if binary else "text", {}, signatures=KnownKey(KEY))


COLUMNS = [
    ("id", INT4, True),
    ("note", TEXT, False),
    ("flag", BOOL, False),
    ("amount", NUMERIC, False),
    ("doc", JSONB, False),
]
VALUES = {
    INT4: st.integers(-(2**31), 2**31 - 1),
    TEXT: st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20),
    BOOL: st.booleans(),
    NUMERIC: st.decimals(allow_nan=False, allow_infinity=False).map(str),
    JSONB: st.sampled_from(["{}", '{"a": 1}', "null", "[]"]),
}


@st.composite
def changes(draw: st.DrawFn) -> tuple[int, str, list[Any] | None, list[Any] | None]:
    """(table, op, old, new)"""
    table = draw(st.sampled_from([1, 2]))
    op = draw(st.sampled_from("IIUUKD"))
    full = table == 2

    def values(nullable: bool, toast: bool) -> list[Any]:
        return [
            draw(VALUES[oid])
            if index == 0 or draw(st.integers(0, 3))
            else (draw(st.sampled_from([None, UNCHANGED])) if toast and oid in (TEXT, JSONB) else None)
            for index, oid in enumerate(TYPES)
        ]

    new = values(True, op in "UK") if op != "D" else None
    old = None
    if full and op != "I":
        old = values(True, False)
    elif not full and op in "KD":
        old = [draw(VALUES[INT4]), None, None, None, None]
    return table, op, old, new


@given(
    st.lists(st.lists(changes(), max_size=6), max_size=6),
    st.lists(st.integers(0, 200), max_size=5),
    st.booleans(),
)
@settings(max_examples=settings().max_examples * 3 // 2)
def test_rows_come_out_as_they_went_in_however_they_are_batched(
    log: list[list[tuple[int, str, list[Any] | None, list[Any] | None]]], cuts: list[int], binary: bool
) -> None:
    messages: list[bytes] = []
    expected: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    counts = []
    for number, transaction in enumerate(log):
        lsn = 100 + 10 * number
        messages.append(begin(lsn, xid=number))
        for table in {c[0] for c in transaction}:
            messages.append(
                relation(
                    table, [(n, o, k or table == 2) for n, o, k in COLUMNS], "f" if table == 2 else "d", f"t{table}"
                )
            )
        for seq, (table, op, old, new) in enumerate(transaction):
            messages.append(_message(table, op, old, new, binary))
            expected[table].append(_expected(LogKey(lsn, seq), table, op, old, new))
        messages.append(commit(lsn))
        counts.append((lsn, number, len(transaction)))
    rows, events, transactions = feed(decoder(binary), messages, cuts)
    found = {layout.table_id: _plain(some, binary) for layout, some in rows.items()}
    assert found == {number: some for number, some in expected.items() if some}
    assert events == []
    assert [(t["lsn"], t["xid"], t["changes"]) for t in transactions] == counts
    assert all(t["committed"] == EPOCH_2000 + 1_000 for t in transactions)


def _message(table: int, op: str, old: list[Any] | None, new: list[Any] | None, binary: bool) -> bytes:
    out = ("U" if op == "K" else op).encode() + struct.pack(">I", table)
    if old:
        out += (b"O" if table == 2 else b"K") + row(old, TYPES, binary)
    if new:
        out += b"N" + row(new, TYPES, binary)
    return out


def _expected(key: LogKey, table: int, op: str, old: list[Any] | None, new: list[Any] | None) -> dict[str, Any]:
    whole = table == 2
    after = list(new) if new else [None] * 5
    if whole and old and new:
        after = [o if v is UNCHANGED else v for o, v in zip(old, after, strict=True)]
    absent = sum(1 << i for i, v in enumerate(after) if v is UNCHANGED)
    found: dict[str, Any] = {
        "lsn": key.lsn,
        "seq": key.seq,
        "op": {"I": Op.INSERT, "D": Op.DELETE}.get(op, Op.UPDATE),
        "before": 0 if not old else 2 if whole else 1,
        "absent": bytes([absent]) if absent else None,
    }
    found |= {f"a_{c[0]}": None if v is UNCHANGED else v for c, v in zip(COLUMNS, after, strict=True)}
    shown = COLUMNS if whole else COLUMNS[:1]
    return found | {f"b_{c[0]}": old[i] if old else None for i, c in enumerate(shown)}


def _plain(rows: list[dict[str, Any]], binary: bool) -> list[dict[str, Any]]:
    def one(name: str, value: Any) -> Any:
        return value.decode() if binary and name.endswith("_amount") and value is not None else value

    return [{name: one(name, value) for name, value in r.items()} for r in rows]


def insert(number: int, *values: Any, oids: Sequence[int] = (INT4,)) -> bytes:
    return b"I" + struct.pack(">I", number) + b"N" + row(values, oids, True)


ID = [("id", INT4, True)]


def test_only_transactions_of_the_window_are_kept() -> None:
    log = [
        m
        for lsn in (10, 20, 30)
        for m in (begin(lsn), *([relation(1, ID)] if lsn == 10 else []), insert(1, lsn), commit(lsn))
    ]
    rows, _, transactions = feed(decoder(low=20, high=30), log)
    assert [r["a_id"] for some in rows.values() for r in some] == [20]
    assert [t["lsn"] for t in transactions] == [20]


def test_keys_do_not_depend_on_what_a_session_repeats() -> None:
    once = [begin(10), relation(1, ID), insert(1, 1), insert(1, 2), commit(10)]
    often = [
        begin(10),
        b"O" + struct.pack(">Q", 1) + b"o\0",
        relation(1, ID),
        insert(1, 1),
        relation(1, ID),
        insert(1, 2),
        commit(10),
    ]
    for log in (once, often):
        rows, _, _ = feed(decoder(), log)
        (some,) = rows.values()
        assert [(r["lsn"], r["seq"], r["a_id"]) for r in some] == [(10, 0, 1), (10, 1, 2)]


def test_a_layout_that_changes_inside_a_transaction() -> None:
    two = [*ID, ("x", TEXT, False)]
    log = [begin(10), relation(1, ID), insert(1, 1), relation(1, two), insert(1, 2, "b", oids=(INT4, TEXT))]
    log += [relation(1, ID), insert(1, 3), commit(10)]
    decoded = decoder().feed(pa.array(log, pa.binary()))
    assert [[r["a_id"] for r in batch.to_pylist()] for _, batch in decoded.rows] == [[1], [2], [3]]
    assert [len(layout.columns) for layout, _ in decoded.rows] == [1, 2, 1]


def test_control_records_keep_their_place() -> None:
    shape = Table(1, TableName("s", "t"), (Column(1, "id", DataType("integer", "pg_catalog", "int4", id=INT4)),))
    ddl = {"v": 1, "kind": "ddl", "tag": "ALTER TABLE", "statement": "alter", "query": "q", "settings": {"tag": "x"}}
    ddl |= {"tables": [shape.to_json()], "dropped": [[5, ["s", "gone"]]], "rewritten": [1], "filled": [2]}
    log = [
        begin(10, xid=3),
        b"O" + struct.pack(">Q", 1) + b"elsewhere\0",
        logical("ddlrepl", signed(ddl, xid=3)),
        relation(1, ID),
        insert(1, 1),
        truncate(1, flags=3),
        logical("app", b"\0hello"),
        logical("ddlrepl.heartbeat", b""),
        logical("ddlrepl", b'{"v":1,"kind":"gap","statement":"oops"}'),
        logical("ddlrepl", b"not json"),
        commit(10),
        logical("app", b"loose", lsn=15, transactional=False),
    ]
    rows, events, (transaction,) = feed(decoder(), log, cuts=[3, 6])
    assert [(e.kind, e.key) for e in events] == [
        (EventKind.DDL, (10, 0)),
        (EventKind.TRUNCATE, (10, 2)),
        (EventKind.GAP, (10, 5)),
    ]
    first, emptied, gap = events
    assert (first.tables, first.dropped, first.rewritten, first.filled) == (
        (shape,),
        ((5, TableName("s", "gone")),),
        (1,),
        (2,),
    )
    assert (first.transaction_id, first.origin, first.tag, first.statement) == (3, "elsewhere", "ALTER TABLE", "alter")
    assert emptied.dropped == ((1, TableName("s", "t")),) and emptied.settings == {
        "cascade": True,
        "restart_identity": True,
    }
    assert gap.statement == "oops"
    assert transaction["origin"] == "elsewhere" and transaction["changes"] == 1
    assert [r["seq"] for some in rows.values() for r in some] == [1]


def test_rows_of_our_own_schema_are_skipped() -> None:
    log = [
        begin(10),
        relation(1, ID, schema="ddlrepl"),
        relation(2, ID),
        insert(1, 1),
        insert(2, 2),
        truncate(1),
        commit(10),
    ]
    rows, events, (transaction,) = feed(decoder(), log)
    assert {layout.table_id for layout in rows} == {2} and events == [] and transaction["changes"] == 1


def test_a_type_that_is_not_binary_safe_asks_for_text() -> None:
    log = [begin(10), relation(1, [("x", 99999, False)]), insert(1, "a", oids=(TEXT,)), commit(10)]
    with pytest.raises(NeedsText) as caught:
        feed(decoder(), log)
    assert caught.value.code == "SRC-150" and caught.value.table == "s.t"
    known = Decoder(Position(0), Position(99), "binary", {99999: TEXT})
    rows, _, _ = feed(known, log)
    assert [r["a_x"] for some in rows.values() for r in some] == ["a"]


def test_the_one_byte_char_type_reads_as_the_server_prints_it() -> None:
    log = [begin(10), relation(1, [("x", CHAR, False)])]
    log += [insert(1, v, oids=(CHAR,)) for v in (b"a", b"\0", b"\xe9", None)] + [commit(10)]
    rows, _, _ = feed(decoder(), log)
    assert [r["a_x"] for some in rows.values() for r in some] == ["a", "", "\\351", None]


WHOLE = [
    begin(10),
    relation(1, ID),
    insert(1, 5),
    b"D" + struct.pack(">I", 1) + b"K" + row([5], [INT4], True),
    commit(10),
]


@pytest.mark.parametrize("number", range(len(WHOLE)))
def test_a_truncated_message_is_refused_with_its_position(number: int) -> None:
    for keep in range(len(WHOLE[number])):
        log = [*WHOLE]
        log[number] = log[number][:keep]
        with pytest.raises(SourceError) as caught:
            feed(decoder(), log)
        assert caught.value.code == "SRC-160" and caught.value.at


@pytest.mark.parametrize(
    "log",
    [
        [begin(10), insert(1, 5), commit(10)],
        [begin(10), truncate(1), commit(10)],
        [relation(1, ID), insert(1, 5)],
        [begin(10), relation(1, ID), insert(1, 5)],
        [begin(10), begin(20), commit(20)],
        [commit(10)],
        [begin(10), b"?", commit(10)],
        [begin(10), relation(1, ID), insert(1, 5, 6, oids=(INT4, INT4)), commit(10)],
        [begin(10), relation(1, ID), insert(1, 5) + b"x", commit(10)],
        [begin(10), relation(1, ID), b"I" + struct.pack(">I", 1) + b"N" + row([5], [INT4], False), commit(10)],
    ],
)
def test_what_is_not_understood_is_refused(log: list[bytes]) -> None:
    with pytest.raises(SourceError, match="SRC-160"):
        feed(decoder(), log)


def shape(kind: DataType, *types: TypeDefinition) -> Table:
    return Table(1, TableName("s", "t"), (Column(1, "c", kind),), types=types, identity=Identity.DEFAULT)


def test_which_tables_are_binary_safe() -> None:
    mood = TypeDefinition(70001, "shop", "Mood", TypeKind.ENUM, labels=("a",))
    price = TypeDefinition(70002, "shop", "price", TypeKind.DOMAIN, base="numeric(10,2)")
    dear = TypeDefinition(70003, "shop", "dear", TypeKind.DOMAIN, base="shop.price")
    felt = TypeDefinition(70004, "shop", "felt", TypeKind.DOMAIN, base='shop."Mood"')
    stamps = TypeDefinition(70006, "shop", "stamps", TypeKind.DOMAIN, base="timestamp(3) with time zone[]")
    pair = TypeDefinition(70005, "shop", "pair", TypeKind.COMPOSITE)
    boxed = TypeDefinition(70007, "shop", "boxed", TypeKind.DOMAIN, base="shop.pair")

    def user(one: TypeDefinition, kind: TypeKind | None = None, **more: Any) -> DataType:
        return DataType(f"shop.{one.name}", "shop", one.name, kind or one.kind, one.id, **more)

    assert wire_types([shape(user(mood), mood)]) == {70001: TEXT}
    assert wire_types([shape(user(price), price)]) == {70002: NUMERIC}
    assert wire_types([shape(user(dear), price, dear)]) == {70003: NUMERIC}
    assert wire_types([shape(user(felt), mood, felt)]) == {70004: TEXT}
    assert wire_types([shape(user(stamps), stamps)]) == {70006: 1185}
    assert all(binary_safe(shape(DataType("x", "pg_catalog", "x", id=oid))) for oid in SAFE_OIDS)
    unsafe = [user(pair), user(boxed), user(mood, TypeKind.ARRAY), user(mood, extension="citext")]
    assert not any(binary_safe(shape(kind, mood, pair, boxed)) for kind in unsafe)
    assert not binary_safe(shape(DataType("regclass", "pg_catalog", "regclass", id=2205)))
