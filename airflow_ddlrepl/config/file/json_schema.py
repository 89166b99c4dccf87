"""The channel file's JSON Schema, for editors and for `ddlrepl schema`."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a channel file before `${VAR}` is read."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Channel.model_json_schema(by_alias=True),
        "title": "airflow-ddlrepl channel",
    }
