"""This operator replays an interval of a channel's log in a backfill of its DAG."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError, LockHeld
from airflow_ddlrepl.hooks.turn import FOREVER
from airflow_ddlrepl.operators.base import is_backfill
from airflow_ddlrepl.operators.rewind import RewindOperator


class ReplayOperator(RewindOperator):
    """Bring a replay of a channel from the start of a backfilled interval to its end; skip the task in other runs.

    It goes on where the interval before has ended, and otherwise builds the replay from the beginning: intervals in
    their order (`--max-active-runs 1`) are replayed once each. Targets and their positions are not changed.

    XCom: as of RewindOperator.

    While another run works on the channel it waits in its worker: an interval that Airflow started again later might
    come behind the next one.

    :param into: which of the channel's `replays`; the DAG run's conf may name another one. (templated)
    :param tables: patterns `schema.table`, one per line; none is all of the channel. (templated)
    """

    onward: ClassVar[bool] = True
    turn_seconds: ClassVar[float] = FOREVER

    def __init__(self, *, into: str, tables: str = "", **kwargs: Any) -> None:
        super().__init__(to="", into=into, tables=tables, **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]
        """Replay the interval; outside of a backfill the task is skipped."""
        if not is_backfill(context):
            raise AirflowSkipException("no backfill: the targets are brought up to now, nothing is replayed")
        end = context.get("data_interval_end")
        if end is None:
            raise AirflowFailException("the run has no data interval: set `schedule` in the channel file")
        self.to = end.isoformat()
        return super().execute(context)

    def _run(self, channel: Channel, context: Context) -> dict[str, Any]:
        if not channel.is_replay(self.into):
            raise ConfigError(
                f"the channel has no replay {self.into}",
                code="CFG-132",
                hint=f"a backfill goes into one of {', '.join(replay.name for replay in channel.replays)}",
            )
        while True:
            try:
                return super()._run(channel, context)
            except LockHeld as held:  # another run was faster, between the end of the wait and the start of the app
                self.log.info("waits for its turn again: %s", held.message)
