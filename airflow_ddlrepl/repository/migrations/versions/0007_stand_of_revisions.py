"""This migration adds an index by which a run sees, without the shapes, whether a revision was added or moved."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_index("revisions_stand", "revisions", ["channel", "number", "created", "lsn"])
