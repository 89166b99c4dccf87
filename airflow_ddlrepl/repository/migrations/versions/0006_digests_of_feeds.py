"""This migration adds the digests of the manifests of feeds that propagations and synchronous captures write."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, PrimaryKeyConstraint, Text

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "feed_segments",
        Column("channel", Text, nullable=False),
        Column("feed", Text, nullable=False),
        Column("epoch", BigInteger, nullable=False),
        Column("low", BigInteger, nullable=False),
        Column("digest", Text, nullable=False),
        Column("is_published", Boolean, nullable=False),
        PrimaryKeyConstraint("channel", "feed", "epoch", "low", "digest"),
    )
