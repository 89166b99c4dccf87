"""A channel's assets in Airflow schedule other DAGs: by the data that it replicated, or by a changed schema.

    from airflow_ddlrepl.assets import schema_asset

    with DAG("document_the_shop", schedule=[schema_asset("shop")]): ...

Events come from the last task of `ddlrepl__<channel>__replicate`; docs/airflow.md describes their `extra`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset, Context


def data_asset(channel: str) -> Asset:
    """Return the asset with an event whenever a run brought rows or schema changes to a target, or loaded a table."""
    return _asset(channel, "data")


def schema_asset(channel: str) -> Asset:
    """Return the asset with an event whenever a table of a target was created, was dropped or changed its shape."""
    return _asset(channel, "schema")


def last_event_extra(context: Context, asset: Asset) -> Mapping[str, Any] | None:
    """Return the `extra` of the asset's newest event, None when there is none.

    The asset must be an inlet of the task.
    """
    newest = list(context["inlet_events"][asset].ascending(False).limit(1))
    return newest[0].extra if newest else None


def set_event_extra(context: Context, asset: Asset, extra: Mapping[str, Any]) -> None:
    """Set the `extra` of the event that the asset gets when the task succeeds.

    The asset must be an outlet of the task.
    """
    context["outlet_events"][asset].extra = dict(extra)


def _asset(channel: str, what: str) -> Asset:
    return Asset(name=f"ddlrepl__{channel}__{what}", uri=f"ddlrepl://{channel}/{what}")
