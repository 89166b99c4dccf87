"""This module imports a SQL script that sets up Oracle Streams: its rules as YAML, and what of it is not taken."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.notation.import_findings import WORST_FIRST, Fate, Finding, report_lines
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.script.compile import compile_script


@dataclass(frozen=True, slots=True)
class Imported:
    """An import is the calls of a script. has_yaml: they are shown, and not the findings alone."""

    file: str
    parameters: StreamsParameters
    findings: tuple[Finding, ...]
    has_yaml: bool = True

    @property
    def is_whole(self) -> bool:
        """Return whether nothing had to be refused."""
        return not any(one.fate is Fate.REFUSED for one in self.findings)

    def _section(self) -> dict[str, Any]:
        return {"streams": self.parameters.model_dump(mode="json", exclude_defaults=True)}

    def to_json(self) -> dict[str, Any]:
        """Return the calls and the findings as JSON values."""
        section = self._section() if self.has_yaml else {}
        return {"file": self.file, **section, "findings": [asdict(one) for one in self.findings]}

    def text(self) -> str:
        """Return the findings, at the head of the YAML text of the calls where that is shown."""
        report = [f"streams from {self.file}", *report_lines(self.findings, self.file)]
        if not self.has_yaml:
            return "\n".join(report)
        head = "\n".join(f"# {line}" for line in report)
        return f"{head}\n{yaml.safe_dump(self._section(), sort_keys=False, allow_unicode=True, width=110)}".rstrip("\n")


def import_streams(path: Path, *, has_yaml: bool = True) -> Imported:
    """Return the calls of a script.

    Raises ConfigError CFG-180 when it can't be opened, CFG-181 when nothing of Streams is in it.
    """
    try:
        script = path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        what = f"the script {path} can't be read: {error.strerror or error}"
        raise ConfigError(what, code="CFG-180", hint="give the path of a SQL script") from None
    found = compile_script(script.replace("\r\n", "\n"))
    if not found.calls and not found.findings:
        raise ConfigError(
            f"{path} calls no procedure of Oracle Streams",
            code="CFG-181",
            hint="give a script with blocks such as BEGIN DBMS_STREAMS_ADM.ADD_TABLE_RULES(…); END;",
        )
    findings = sorted(found.findings, key=lambda one: (WORST_FIRST.index(one.fate), one.line))
    return Imported(str(path), found.parameters(), tuple(findings), has_yaml)
