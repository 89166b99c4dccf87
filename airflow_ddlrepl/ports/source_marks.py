"""This module is the port of a source's marks, by which an older copy of it is found out."""

from __future__ import annotations

from airflow_ddlrepl.model.marks import Mark, SourceMark
from airflow_ddlrepl.model.position import Position


class SourceMarks:
    """The source's marks tell a copy of it that was put back from the source as it was; as it is here, it has none."""

    def can_have(self) -> bool:
        """Does the source have what marks need? One that an earlier version has prepared does not."""
        return False

    def read(self) -> SourceMark | None:
        """Return the channel's mark; None where there is none."""
        return None

    def write(self, mark: Mark, after: str) -> Position | None:
        """Write the channel's mark, durably; return a position like `Source.stable_end`, None where that can't be.

        Who has the mark has all that commits before the position. after: the token of the mark before.
        """
        return None

    def adopt_publication(self) -> None:
        """Take the feed that the source has now for the channel's: an upgrade of the server has given it another id."""
        return None
