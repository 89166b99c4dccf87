"""This module defines the repository's tables; the migrations build them, and a test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

SCHEMA = "ddlrepl_repository"  # on PostgreSQL; SQLite has a file of its own
HEAD = "0013"  # the newest migration


class Moment(TypeDecorator[datetime]):
    """This column type stores a moment in UTC, also where the database stores no offset."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the moment as the database stores it."""
        if value is None:
            return None
        return value.astimezone(UTC).replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Return the stored moment in UTC."""
        return None if value is None else value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Serial = BigInteger().with_variant(Integer(), "sqlite")
metadata = MetaData()

channels = Table(
    "channels",
    metadata,
    Column("name", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("source", Text),
    Column("explained", Text),
    Column("server", Text),
    Column("lineage", Text),
    Column("publication", BigInteger),
    Column("state", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("created", Moment, nullable=False),
    Column("activated", Moment),
    Column("updated", Moment, nullable=False),
)

# One row per channel that ever was: neither token nor epoch is used twice, even after the channel is deleted.
locks = Table(
    "locks",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("token", BigInteger, nullable=False),
    Column("next_epoch", BigInteger, nullable=False),
    Column("holder", Text),
    Column("process", Text),
    Column("since", Moment),
    Column("lease_until", Moment),
)

tables = Table(
    "tables",
    metadata,
    Column("channel", Text, nullable=False),
    Column("table_id", BigInteger, nullable=False),
    Column("schema_name", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("updated", Moment, nullable=False),
    PrimaryKeyConstraint("channel", "table_id"),
)

revisions = Table(
    "revisions",
    metadata,
    Column("channel", Text, nullable=False),
    Column("table_id", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("shape", JSON(none_as_null=True)),
    Column("origin", Text, nullable=False),
    Column("statement", Text),
    Column("is_ambiguous", Boolean, nullable=False),
    Column("xid", BigInteger),
    Column("seen", Text),
    Column("created", Moment, nullable=False),
    PrimaryKeyConstraint("channel", "table_id", "number"),
    Index("revisions_stand", "channel", "number", "created", "lsn"),
)

positions = Table(
    "positions",
    metadata,
    Column("channel", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    Column("updated", Moment, nullable=False),
    PrimaryKeyConstraint("channel", "kind"),
)

segments = Table(
    "segments",
    metadata,
    Column("channel", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("low", BigInteger, nullable=False),
    Column("high", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("files", Integer, nullable=False),
    Column("events", Integer, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("digest", Text),  # of the manifest; NULL: an earlier version has stored the segment
    PrimaryKeyConstraint("channel", "epoch", "low"),
)

# One row per load that is archived in the trail: the digest of its manifest.
loads = Table(
    "loads",
    metadata,
    Column("channel", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False),
    PrimaryKeyConstraint("channel", "epoch", "name"),
)

# One row per manifest of a feed that a propagation or a synchronous capture has written, or has begun to write.
feed_segments = Table(
    "feed_segments",
    metadata,
    Column("channel", Text, nullable=False),
    Column("feed", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("low", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("is_published", Boolean, nullable=False),
    PrimaryKeyConstraint("channel", "feed", "epoch", "low", "digest"),
)

# One row per mark that a capture has written to the source: by it an older copy of source or repository is found out.
marks = Table(
    "marks",
    metadata,
    Column("channel", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("token", Text, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    Column("made", Moment, nullable=False),
    PrimaryKeyConstraint("channel", "number"),
)

events = Table(
    "events",
    metadata,
    Column("channel", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("tag", Text, nullable=False),
    Column("statement", Text),
    Column("table_ids", JSON, nullable=False),
    Column("committed", Moment, nullable=False),
    PrimaryKeyConstraint("channel", "epoch", "lsn", "seq"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("channel", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("table_id", BigInteger, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("sql_hash", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("statement", Text),
    PrimaryKeyConstraint("channel", "target", "table_id", "revision", "step"),
)

controls = Table(
    "controls",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("channel", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("removed", Moment),
    Column("removed_by", Text),  # NULL: nobody knows
    UniqueConstraint("channel", "target", "lsn", "seq"),
)

refreshes = Table(
    "refreshes",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("channel", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("table_id", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("how", Text, nullable=False),
    Column("requested_at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("rows", BigInteger),
    Column("created", Moment, nullable=False),
    Column("finished", Moment),
)

# One row per messaging client and feed of its queue: up to where the client has taken messages.
dequeued = Table(
    "dequeued",
    metadata,
    Column("channel", Text, nullable=False),
    Column("client", Text, nullable=False),
    Column("feed", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("lsn", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("updated", Moment, nullable=False),
    PrimaryKeyConstraint("channel", "client", "feed"),
)

# One row per channel: what its last capture found at the source, as capture/source_record.py has it.
source_records = Table(
    "source_records",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("content", JSON, nullable=False),
    Column("updated", Moment, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("channel", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("started", Moment, nullable=False),
    Column("ended", Moment),
    Column("status", Text, nullable=False),
    Column("result", JSON(none_as_null=True)),
    PrimaryKeyConstraint("channel", "run_id", "stage"),
)

errors = Table(
    "errors",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("channel", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("hint", Text, nullable=False),
    Column("target", Text),
    Column("table_name", Text),
    Column("at", Text),
    Column("created", Moment, nullable=False),
    Column("kind", Text),  # the name of its class, by which code tells errors apart
)

_OF_THE_LOG = (tables, revisions, positions, segments, loads, marks, events)
OF_A_CHANNEL = (
    *_OF_THE_LOG,
    feed_segments,
    ledger,
    controls,
    refreshes,
    dequeued,
    runs,
    errors,
    source_records,
)
