"""Write the page about the API that Airflow serves below /ddlrepl/api, from the description that the product gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_ddlrepl.plugin.app import web_app

Part = Mapping[str, Any]
PLACE = "/ddlrepl"
"""Where Airflow's API server mounts the app."""
HEAD = """\
# API

{description}

Airflow's API server answers at `/ddlrepl/api`, with Airflow's token or cookie; [In Airflow](../airflow.md) says who may
ask. The description for machines is [openapi.json](../schema/openapi.json), as `/ddlrepl/api/openapi.json` has it.
"""


def description() -> dict[str, Any]:
    """Return the OpenAPI description, with the addresses that the API has in Airflow."""
    found = web_app().openapi()
    return {**found, "paths": {f"{PLACE}{path}": item for path, item in found["paths"].items()}}


def openapi() -> str:
    """Return the OpenAPI description as JSON."""
    return json.dumps(description(), indent=2)


def page() -> str:
    """Return the page of the API as Markdown."""
    found = description()
    lines = [HEAD.format(description=found["info"]["description"])]
    for path, item in found["paths"].items():
        for method, operation in item.items():
            lines += _operation(f"{method.upper()} {path}", operation)
    for name, schema in found.get("components", {}).get("schemas", {}).items():
        lines += _model(name, schema)
    return "\n".join(lines)


def _operation(title: str, operation: Part) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{_text(operation.get('description', ''))}\n"
    if operation.get("parameters"):
        yield "| Parameter | Where | Values | Default | Meaning |"
        yield "|---|---|---|---|---|"
        yield from map(_parameter, operation["parameters"])
        yield ""
    yield "| Answer | Content | Meaning |"
    yield "|---|---|---|"
    for status, answer in operation["responses"].items():
        content = [_kind(one.get("schema", {})) for one in answer.get("content", {}).values()]
        yield f"| {status} | {', '.join(content)} | {_text(answer['description'])} |"
    yield ""


def _parameter(one: Part) -> str:
    schema = one["schema"]
    default = f"`{json.dumps(schema['default'])}`" if schema.get("default") not in (None, "") else ""
    meaning = one.get("description") or schema.get("description", "")
    return f"| `{one['name']}` | {one['in']} | {_kind(schema)} | {default} | {_text(meaning)} |"


def _model(name: str, schema: Part) -> Iterator[str]:
    yield f"## {name}\n"
    if about := schema.get("description"):
        yield f"{_text(about)}\n"
    yield "| Key | Values | Always there | Meaning |"
    yield "|---|---|---|---|"
    for key, one in schema.get("properties", {}).items():
        is_required = "yes" if key in schema.get("required", ()) else ""
        yield f"| `{key}` | {_kind(one)} | {is_required} | {_text(one.get('description', ''))} |"
    if schema.get("additionalProperties"):
        yield "| … | | | more keys, as the pages show them |"
    yield ""


def _kind(schema: Part) -> str:
    """Return which values a schema allows; a model as a link to its section."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return ", ".join(_kind(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    limits = {"minimum": "from", "maximum": "to", "maxLength": "at most characters:"}
    told = [f"{word} {schema[limit]}" for limit, word in limits.items() if limit in schema]
    return " ".join([str(schema.get("type", "any")), *told])


def _text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
