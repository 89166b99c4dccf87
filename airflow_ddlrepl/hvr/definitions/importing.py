"""Import the definition of an HVR channel from a file, and write the channel file for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hvr.definitions.compile import Compiled, compile_channel
from airflow_ddlrepl.hvr.definitions.definition import HvrDefinition, Problems
from airflow_ddlrepl.hvr.definitions.read_json import read_json
from airflow_ddlrepl.hvr.definitions.read_text import read_text
from airflow_ddlrepl.notation.import_findings import Fate, Finding, report_lines

MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Imported:
    """An import is a channel file's text, and what of the HVR channel is not in it. output: where it was written."""

    file: str
    channel: dict[str, Any]
    findings: tuple[Finding, ...]
    output: str = ""

    @property
    def is_whole(self) -> bool:
        """Return whether nothing had to be refused."""
        return not any(one.fate is Fate.REFUSED for one in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the channel and the findings as JSON values."""
        return {
            "file": self.file,
            "output": self.output or None,
            "channel": self.channel,
            "findings": [asdict(one) for one in self.findings],
        }

    def report(self) -> str:
        """Return the findings as lines for a person, by class."""
        lines = [f"channel {self.channel['channel']} from {self.file}", *report_lines(self.findings, self.file)]
        return "\n".join(lines).encode(errors="backslashreplace").decode()

    def yaml(self) -> str:
        """Return the text of the channel file; the report stands at its head."""
        head = "\n".join(f"# {line}" for line in self.report().splitlines())
        return f"{head}\n{yaml.safe_dump(self.channel, sort_keys=False, allow_unicode=True, width=110)}"

    def text(self) -> str:
        """Return what a person sees: the report, or the channel file when it was not written."""
        return f"{self.report()}\n{self.output} is written" if self.output else self.yaml().rstrip("\n")


def import_hvr(path: Path, output: Path | None = None, channel: str = "") -> Imported:
    """Compile an HVR channel's definition into a channel file. channel: which one, when the file has several.

    Raises ConfigError CFG-141 for a file that can't be read or compiled, CFG-142 when its channel is none of ours or
    not named, CFG-143 when the output can't be written.
    """
    try:
        definition = _chosen(_definitions(_text(path)), channel)
        compiled = compile_channel(definition, path.stem)
    except Problems as problems:
        raise problems.as_config_error(str(path)) from None
    imported = _checked(path, compiled)
    if output is None:
        return imported
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(imported.yaml())
    except OSError as error:
        hint = "name a file that does not exist, in a folder that does"
        raise ConfigError(f"{output}: {error.strerror}", code="CFG-143", hint=hint) from None
    return Imported(imported.file, imported.channel, imported.findings, str(output))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Problems([(1, "larger than 64 MB: export one channel")])
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}", code="CFG-141", hint="give HVR's actions or its export"
        ) from None
    except UnicodeDecodeError as error:
        raise Problems([(error.object.count(b"\n", 0, error.start) + 1, "not UTF-8 text")]) from None


def _definitions(text: str) -> list[HvrDefinition]:
    start = text.lstrip()[:1]
    if start == "<":
        raise Problems([(1, "this is HVR 5's XML: convert it to JSON with HVR's script hvrconvert5to6 first")])
    return read_json(text) if start in ("{", "[") else [read_text(text)]


def _chosen(found: list[HvrDefinition], wanted: str) -> HvrDefinition:
    named = [one for one in found if wanted in ("", one.name)]
    if len(named) == 1:
        return named[0]
    names = ", ".join(one.name or "one without a name" for one in found)
    raise ConfigError(f"the file has these channels: {names}", code="CFG-142", hint="name one of them with --channel")


def _literal(value: Any) -> Any:
    """Return the value with every `${` written so that a channel file takes it as it is."""
    if isinstance(value, dict):
        return {key: _literal(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_literal(one) for one in value]
    return value.replace("${", "$${") if isinstance(value, str) else value


def _checked(path: Path, compiled: Compiled) -> Imported:
    """Return the import, once its channel file is known to be valid."""
    imported = Imported(str(path), _literal(compiled.channel), tuple(compiled.findings))
    try:
        read_channel(imported.yaml(), "the channel file for it")
    except ConfigError as error:
        hint = "take out of the imported file what is named here, and write it into the channel file by hand"
        raise ConfigError(f"{path}:1: {error.message}", code="CFG-141", hint=hint) from None
    return imported
