"""Generate docs/channel.md, the reference of the channel file, from the models.

python -m airflow_ddlrepl.config.file.reference_page > docs/channel.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_ddlrepl.config.file.json_schema import json_schema
from airflow_ddlrepl.config.sections.location import LOCATIONS

INTRODUCTION = (
    """\
# The channel file

A channel is one YAML file: a source, its tables, the targets, and what happens when a table's shape changes.
`ddlrepl check FILE` prints every mistake with its line.

**In an editor** with a YAML language server keys are completed and mistakes shown. `ddlrepl init` writes a first line
for it, `# yaml-language-server: $schema=ddlrepl-channel.schema.json`, and the schema beside the file. `ddlrepl schema`
prints it for other places; the documentation's site has it as `schema/channel.json`.

```yaml
channel: shop
source:
  location: shop_db
  tables: ["public.*"]
targets:
  - name: warehouse
    location: warehouse_db
adapt_ddl:
  - add_table_pattern: "*"
```

"""
    + LOCATIONS
    + """
An id is looked up in `AIRFLOW_CONN_<ID>` (URI or JSON), then in the file that `DDLREPL_CONNECTIONS_FILE` names: JSON,
or lines `id=URL`; it must be readable by its owner only (mode 0600). In a URL, percent-encode special characters of
user and password.

**`${VAR}`** is replaced by the environment variable in every text. An unset variable is an error; `$${` is a literal
`${`. Put passwords there or into a connection: they are shown nowhere.

**Paths** (`repository: sqlite:///…`, `trail:`) are relative to the channel file's folder. The default folder is
`$DDLREPL_HOME`, else `~/.ddlrepl`.

**Patterns**: `*` any run, `?` one character, `[a-f]` and `[!a-f]` ranges, `|` between alternatives. They ignore
case; a part in double quotes is literal and case-sensitive. `tables` and `exclude` take `schema.table`; `"*.*"` is
every schema except the system's and `ddlrepl`.

**Durations and sizes** are numbers (seconds, bytes) or text: `90s`, `12h`, `7d`; `256MB`, `10GB`.

**Actions**: the first action that has the setting decides. The source's or target's own list comes first, then the
channel's, then `defaults`. Policy values are accepted in upper and lower case.

**`defaults: hvr`**: a target's table follows the source's only where both sides have an action for it. Other tables
stay as they are and take the columns that they have. A new table is not created, and each schema change that is not
applied is a warning. A target that gets an action later follows from the next change on, by a refresh.
"""
)


def markdown() -> str:
    """Return the whole page as Markdown."""
    schema = json_schema()
    sections = [("Channel", schema)]
    sections += [(name, part) for name, part in schema["$defs"].items() if "properties" in part]
    order = [
        "Channel",
        "Source",
        "Target",
        "TablePartitions",
        "TableSort",
        "AdaptAction",
        "ReplayEntry",
        "RuleSets",
        "Rule",
        "ColumnProperty",
        "TableProperty",
        "Restriction",
        "Transformation",
        "TargetTable",
        "ConflictRule",
        "DbSequences",
        "Capture",
        "IgnoredSessions",
        "ExtractParameters",
        "TableParameter",
        "ReplicatParameters",
        "MapParameter",
        "ConflictSection",
        "ColumnMap",
        "ErrorRule",
        "Filters",
        "Clause",
        "Substitution",
        "Spark",
        "Lock",
        "Streams",
        "ApplyTarget",
        "Retention",
        "Limits",
        "RewindHorizon",
        "HoldLog",
    ]
    sections.sort(key=lambda section: order.index(section[0]))
    return "\n".join([INTRODUCTION, *(line for name, part in sections for line in _section(name, part, schema))])


TITLES = {
    "Channel": "The file",
    "Source": "`source`",
    "Target": "`targets`, each",
    "AdaptAction": "`adapt_ddl`, each",
    "ReplayEntry": "`replay_ddl`, each",
    "RuleSets": "`rules`",
    "Rule": "`positive` and `negative`, each",
    "ColumnProperty": "`column_properties`, each",
    "TablePartitions": "`partitions` of `targets`, each",
    "TableSort": "`sort` of `targets`, each",
    "TableProperty": "`table_properties`, each",
    "Restriction": "`restrict`, each",
    "Transformation": "`transform`, each",
    "TargetTable": "`target_tables`, each",
    "ConflictRule": "`conflicts`, each",
    "DbSequences": "`db_sequence`",
    "Capture": "`capture`",
    "IgnoredSessions": "`capture.ignore_sessions`",
    "ExtractParameters": "`source.extract`",
    "Filters": "`ddl` of `extract` and `replicat`",
    "Clause": "`include` and `exclude`, each",
    "Substitution": "`substitutions`, each",
    "ReplicatParameters": "`replicat`",
    "TableParameter": "`tables` of `extract`, each",
    "MapParameter": "`maps`, each",
    "ColumnMap": "`colmap`",
    "ConflictSection": "`conflicts` of `maps`",
    "ErrorRule": "`errors`, each",
    "Spark": "`spark`",
    "Lock": "`lock`",
    "Streams": "`streams`",
    "ApplyTarget": "`targets` of `streams`, each",
    "Retention": "`retention`",
    "Limits": "`limits`",
    "RewindHorizon": "`rewind_horizon`",
    "HoldLog": "`hold_log`",
}


def _section(name: str, part: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    yield f"## {TITLES[name]}\n"
    if name != "Channel":
        yield part["description"].replace("\n", " ").replace("  ", "\n\n") + "\n"
    yield "| Key | Value | Default | Meaning |"
    yield "|---|---|---|---|"
    needed = part.get("required", [])
    for key, value in part["properties"].items():
        default = "**required**" if key in needed else _default(value)
        meaning = value.get("description", _resolved(value, schema).get("description", "")).partition("\n")[0]
        yield f"| `{key}` | {_kind(value, schema)} | {default} | {_cell(meaning)} |"
    yield ""


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if default in (None, "", [], {}, False) or isinstance(default, dict):
        return ""
    return f"`{', '.join(default) if isinstance(default, list) else default}`"


def _kind(value: dict[str, Any], schema: dict[str, Any]) -> str:
    found = _resolved(value, schema)
    if "enum" in found:
        return ", ".join(f"`{v}`" for v in found["enum"] if v.upper() not in found["enum"] or v == v.upper())
    if "anyOf" in found:
        kinds = [_kind(option, schema) for option in found["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if found.get("type") == "array":
        options = found["items"].get("anyOf", [found["items"]])
        return "list" if any("properties" in _resolved(option, schema) for option in options) else "list of text"
    names = {"string": "text", "integer": "number", "boolean": "`true`, `false`", "object": "keys and values"}
    return names[found["type"]]


def _resolved(value: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["$defs"][value["$ref"].rpartition("/")[2]] if "$ref" in value else value
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(markdown(), end="")
