"""A channel's assets in Airflow: DAGs can be scheduled by what it brought, or by a schema that has changed.

    from airflow_ddlrepl.assets import schema_asset

    with DAG("document_the_shop", schedule=[schema_asset("shop")]): ...

Events come from the last task of `ddlrepl__<channel>__replicate`; their `extra` is as docs/airflow.md tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset, Context


def data_asset(channel: str) -> Asset:
    """Has an event when a run has brought rows or schema changes to a target, or loaded a table there."""
    return _asset(channel, "data")


def schema_asset(channel: str) -> Asset:
    """Has an event when a table of a target has come, has gone, or has another shape."""
    return _asset(channel, "schema")


def last_told(context: Context, asset: Asset) -> Mapping[str, Any] | None:
    """The extra of the asset's newest event; None when there is none. The asset must be an inlet of the task."""
    newest = list(context["inlet_events"][asset].ascending(False).limit(1))
    return newest[0].extra if newest else None


def tell(context: Context, asset: Asset, extra: Mapping[str, Any]) -> None:
    """Give the event that the asset gets when the task has succeeded its extra. The asset must be an outlet."""
    context["outlet_events"][asset].extra = dict(extra)


def _asset(channel: str, what: str) -> Asset:
    return Asset(name=f"ddlrepl__{channel}__{what}", uri=f"ddlrepl://{channel}/{what}")
