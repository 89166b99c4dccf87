"""Make seeded values of every kind that a replication may fail on, as text that PostgreSQL reads."""

from __future__ import annotations

import json
import pickle
import uuid
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

from airflow_ddlrepl.demo.workload.shapes import Slot
from airflow_ddlrepl.model.names import TableName

WORDS = (
    "plain",
    "",
    " padded ",
    'it\'s "quoted"',
    "back\\slash \\N \\x41",
    "percent %s %(x)s 100%",
    "semi; DROP TABLE dag; --",
    "tab\tnew\nline\r\n",
    "žluťoučký kůň",
    "日本語テキスト",
    "🦄 emoji 👩‍👩‍👧",
    "null",
    "NULL",
    "{not: json",
    "$1 $$ :name ?",
    "\u200fעברית",
    "e\u0301 combining",
    "\x01\x1f control",
)
INTEGERS = (0, 1, -1, 7, 42, 1000, 2**15 - 1, -(2**15))
FLOATS = ("0", "-0", "1e-300", "3.141592653589793", "0.1", "NaN", "Infinity", "-Infinity", "1.7976931348623157e308")
MOMENTS = (
    "2026-11-21 08:00:00.123456+00",
    "1999-12-31 23:59:59.999999+14",
    "2000-01-01 00:00:00+00",
    "1970-01-01 00:00:00-05:30",
    "0001-01-01 00:00:00+00",
    "9999-12-31 23:59:59.999999+00",
    "infinity",
    "-infinity",
    "2024-02-29 12:00:00+02",
)
TOAST_BYTES = 9000


class Values:
    """A generator of values gives the same values for the same seed and the same calls."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._counter = 0

    def of(self, table: TableName, slot: Slot, *, is_unique: bool, may_be_long: bool) -> str | None:
        """Return a value for this column as PostgreSQL's text input, None for NULL."""
        if slot.nullable and not is_unique and self._random.random() < 0.2:
            return None
        special = SPECIAL.get((table.name, slot.name))
        if special is not None and slot.base == special[0]:
            return special[1](self)
        if slot.labels:
            return self._random.choice(slot.labels)
        if slot.base in ("varchar", "text", "bpchar", "name"):
            return self.text(slot.length, is_unique, may_be_long)
        return KINDS[slot.base](self, is_unique)

    def number(self, is_unique: bool) -> str:
        """Return an integer."""
        if is_unique:
            self._counter += 1
            return str(1_000 + self._counter)
        return str(self._random.choice(INTEGERS) if self._random.random() < 0.5 else self._random.randrange(1, 30_000))

    def decimal(self, _: bool) -> str:
        """Return a number with two decimals."""
        return f"{self._random.randrange(-(10**9), 10**9)}.{self._random.randrange(100):02d}"

    def text(self, length: int, is_unique: bool, may_be_long: bool) -> str:
        """Return a text, sometimes one that is long enough for TOAST."""
        word = self._random.choice(WORDS)
        if is_unique:
            self._counter += 1
            word = f"{self._counter:x}{word}"
        if may_be_long and not length and self._random.random() < 0.08:
            word += self._random.randbytes(TOAST_BYTES // 2).hex()
        return word[:length] if length else word

    def floating(self, _: bool) -> str:
        """Return a floating-point number, also NaN and the infinities."""
        return self._random.choice(FLOATS) if self._random.random() < 0.3 else repr(self._random.gauss(0, 1e3))

    def boolean(self, _: bool) -> str:
        """Return true or false."""
        return self._random.choice(("true", "false"))

    def moment(self, is_unique: bool) -> str:
        """Return a moment, also infinite and very old ones."""
        return self.recent() if is_unique or self._random.random() > 0.3 else self._random.choice(MOMENTS)

    def recent(self) -> str:
        """Return a finite moment between 2010 and 2040, to the microsecond."""
        seconds = self._random.randrange(30 * 365 * 86400)
        moment = datetime(2010, 1, 1, tzinfo=UTC) + timedelta(
            seconds=seconds, microseconds=self._random.randrange(10**6)
        )
        return moment.isoformat()

    def interval(self, _: bool) -> str:
        """Return an interval."""
        months, days, seconds = (self._random.randrange(n) for n in (99, 31, 10))
        return f"{months - 9} mons {days} days 00:00:0{seconds}.000001"

    def document(self) -> dict[str, object]:
        """Return a JSON object with nested parts, awkward texts and numbers."""
        word = self._random.choice(WORDS)
        items: list[object] = [None, True, 1.5, -(2**40), word]
        number = {"n": self._random.randrange(10**6)}
        return {"key": word, "é": items[: self._random.randrange(6)], 'quote"': number}

    def json(self, _: bool) -> str:
        """Return a JSON object as text, sometimes one that is long enough for TOAST."""
        document = self.document()
        if self._random.random() < 0.05:
            document["long"] = self._random.randbytes(TOAST_BYTES // 2).hex()
        return json.dumps(document, ensure_ascii=self._random.random() < 0.5)

    def bytes(self, _: bool) -> str:
        """Return bytes."""
        return "\\x" + (b"\x00\xff" + self._random.randbytes(self._random.randrange(40))).hex()

    def json_bytes(self) -> str:
        """Return what Airflow has in xcom.value: JSON in bytes; sometimes a pickle, which revision 0049 archives."""
        if self._random.random() < 0.1:
            return self.pickled()
        return "\\x" + json.dumps(self.document()).encode().hex()

    def pickled(self) -> str:
        """Return what Airflow had in dag_run.conf: a pickle, which revision 0055 unpickles."""
        return "\\x" + pickle.dumps(self.document(), protocol=4).hex()

    def compressed(self) -> str:
        """Return what Airflow has in serialized_dag.data_compressed."""
        return "\\x" + zlib.compress(json.dumps(self.document()).encode()).hex()

    def uuid(self, _: bool) -> str:
        """Return a UUID."""
        return str(uuid.UUID(bytes=self._random.randbytes(16), version=4))


KINDS: dict[str, Callable[[Values, bool], str]] = {
    "int2": Values.number,
    "int4": Values.number,
    "int8": Values.number,
    "numeric": Values.decimal,
    "float4": lambda values, _: str(values._random.randrange(1000) / 8),
    "float8": Values.floating,
    "bool": Values.boolean,
    "timestamptz": Values.moment,
    "timestamp": Values.moment,
    "date": Values.moment,
    "interval": Values.interval,
    "json": Values.json,
    "jsonb": Values.json,
    "bytea": Values.bytes,
    "uuid": Values.uuid,
}
SPECIAL: dict[tuple[str, str], tuple[str, Callable[[Values], str]]] = {
    ("xcom", "value"): ("bytea", Values.json_bytes),
    ("dag_run", "conf"): ("bytea", Values.pickled),
    ("task_instance", "executor_config"): ("bytea", Values.pickled),
    ("task_instance_history", "executor_config"): ("bytea", Values.pickled),
    ("serialized_dag", "data_compressed"): ("bytea", Values.compressed),
    # Revision 0042 makes UUIDs of these, which have no room for infinity; 0101 reads them into Python.
    ("serialized_dag", "created_at"): ("timestamptz", Values.recent),
    ("task_instance", "queued_dttm"): ("timestamptz", Values.recent),
    ("task_instance", "start_date"): ("timestamptz", Values.recent),
}
