"""This module makes the JSON Schema of a channel file, for editors and for `ddlrepl schema`."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a channel file as it is written, before `${VAR}` is replaced."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Channel.model_json_schema(by_alias=True),
        "title": "airflow-ddlrepl channel",
    }
