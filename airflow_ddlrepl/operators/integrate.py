"""This operator merges the captured rows into the targets, and sends the events of what has arrived."""

from __future__ import annotations

import json
from typing import Any

from airflow.sdk import Context

from airflow_ddlrepl.assets import data_asset, last_event_extra, schema_asset, set_event_extra
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import DriverMissing
from airflow_ddlrepl.flow.stages import INTEGRATE
from airflow_ddlrepl.operators.base import DdlReplSparkOperator, is_driver
from airflow_ddlrepl.visible import one_line


class IntegrateOperator(DdlReplSparkOperator):
    """Merge the captured rows into the targets, exactly once.

    A target with `apply_every` waits for a later run, and starts no Spark. XCom: rows (inserted, updated, deleted),
    positions (by target), waiting (targets, since and until when); under the key `status` the positions of the channel,
    as `ddlrepl status --json` prints them. With a channel's assets as inlets and as outlets it sends an event of each
    asset that has news, whichever task or earlier run brought it.
    """

    runs = INTEGRATE

    outlets: list[Any]

    def finish(self, channel: Channel, context: Context) -> None:
        """Push the channel's status as an XCom, and send the events of its assets that have news.

        Raises SourceError SRC-126 where a table has left the stream: its rows do not reach the targets.
        Airflow sends an event for each outlet of a task that succeeds; so assets without news are taken out of them.
        """
        from airflow_ddlrepl import flow

        assets = {"data": data_asset(channel.name), "schema": schema_asset(channel.name)}
        ours = {kind: asset for kind, asset in assets.items() if asset in self.outlets}
        before = {kind: last_event_extra(context, asset) for kind, asset in ours.items()}
        self.outlets = [one for one in self.outlets if one not in ours.values()]
        try:
            found = flow.new_events(channel, **before, run_id=str(context["run_id"]))
        except (ModuleNotFoundError, DriverMissing) as missing:
            if not is_driver(missing):
                raise
            self.log.warning("no status and no asset events: a driver is missing on this worker: %s", missing)
            return
        if (task := context.get("ti")) is not None:
            task.xcom_push(key="status", value=json.loads(json.dumps(found.status, default=str)))
        for name, target in found.status["targets"].items():
            if target.get("waits_until"):
                self.log.info("target %s waits until %s (apply_every)", name, target["waits_until"])
        for one in found.status["left_out"]:
            since = f" since {one['since']}" if one["since"] else ""
            self.log.warning(
                "%s is left out%s, its rows do not reach the targets: %s",
                one_line(one["table"]),
                since,
                one_line(one["why"]),
            )
        for kind, asset in ours.items():
            extra = getattr(found, kind)
            if extra is not None:
                self.log.info("%s of channel %s: there is news", kind, channel.name)
                self.outlets.append(asset)
                set_event_extra(context, asset, extra)
        if lost := [one["table"] for one in found.status["left_out"] if one.get("is_lost")]:
            raise flow.lost_error(lost)
        if unread := [one["table"] for one in found.status["left_out"] if one.get("is_undecodable")]:
            raise flow.undecodable_error(unread)
        if names := found.status["setup"].get("unpublished"):
            raise flow.file_error(names)
