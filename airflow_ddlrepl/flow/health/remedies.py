"""A remedy of each kind of trouble is a command to copy, and the DAG that does the same with its form filled."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from airflow_ddlrepl.flow.health.verdict import Remedy

MOST_TABLES = 20
"""So many tables are named in one command or form."""


class Remedies:
    """These are the remedies for one channel. file: the channel file, as commands name it."""

    def __init__(self, channel: str, file: str) -> None:
        self._channel = channel
        self._file = quote(file)

    def _dag(self, kind: str) -> str:
        return f"ddlrepl__{self._channel}__{kind}"

    def replicate(self, text: str = "") -> Remedy:
        """Run a cycle."""
        return Remedy(text, f"ddlrepl replicate {self._file}", self._dag("replicate"))

    def activate(self, text: str = "") -> Remedy:
        """Activate the channel."""
        return Remedy(text, f"ddlrepl activate {self._file}", self._dag("enroll"))

    def remove_control(self, number: int) -> Remedy:
        """Let a target go on past a control."""
        text = "look at the change, do by hand what it needs, then remove the control: the next run goes on past it"
        command = f"ddlrepl controls remove {self._file} {number}"
        return Remedy(text, command, self._dag("controls"), {"control": number})

    def retry(self, tables: Sequence[str], hint: str = "") -> Remedy:
        """Bring suspended tables up."""
        again = f"each run tries again; {self.refresh(tables).command} loads what can't be brought up"
        named = "".join(f" --table {quote(one)}" for one in tables[:MOST_TABLES])
        text = f"{hint}. {again}" if hint else again
        conf = {"tables": "\n".join(tables[:MOST_TABLES])}
        return Remedy(text, f"ddlrepl errors retry {self._file}{named}", self._dag("refresh"), conf)

    def refresh(self, tables: Sequence[str], text: str = "") -> Remedy:
        """Load tables again."""
        named = "".join(f" --table {quote(one)}" for one in tables[:MOST_TABLES])
        conf = {"tables": "\n".join(tables[:MOST_TABLES])}
        return Remedy(text, f"ddlrepl refresh {self._file}{named}", self._dag("refresh"), conf)

    def errors(self, text: str = "") -> Remedy:
        """List the errors, and what waits because of them."""
        return Remedy(text, f"ddlrepl errors list {self._file}")

    def retry_errors(self) -> Remedy:
        """Apply the transactions of error queues again."""
        text = "look at each with `ddlrepl errors show`, mend what it names, then apply them again or delete them"
        return Remedy(text, f"ddlrepl errors retry {self._file} --all")

    def look(self, text: str = "") -> Remedy:
        """Look at the channel as it is now."""
        return Remedy(text, f"ddlrepl status {self._file}")
