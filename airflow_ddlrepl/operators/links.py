"""These are buttons on a task's page: the channel's status, the SQL that was run, its DDL history, the Spark UI."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from airflow.sdk import BaseOperatorLink

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.settings import option
from airflow_ddlrepl.operators.messages.markdown import page

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

# Airflow asks for a link in the worker, at the end of the task, and stores it as an XCom; an empty one is not shown.


class NamedLink(BaseOperatorLink):
    """This button has its own name in the list of a task's XComs, where Airflow stores its address."""

    @property
    def xcom_key(self) -> str:
        """Return the key of the XCom with the address: `link: Channel status`."""
        return f"link: {self.name}"


class ChannelStatusLink(NamedLink):
    """This button opens the positions of the channel and its targets after the newest run."""

    name = "Channel status"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of the status on the channel's page."""
        return channel_page(operator, "status")


class ExecutedSqlLink(NamedLink):
    """This button opens the statements that this run has executed at the targets."""

    name = "Executed SQL"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of this run's statements on the channel's page."""
        return channel_page(operator, "sql", run=ti_key.run_id)


class DdlHistoryLink(NamedLink):
    """This button opens the tables of the targets that have come, gone or changed, and the runs that did it."""

    name = "DDL history"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of the history on the channel's page."""
        return channel_page(operator, "history")


class SparkUiLink(NamedLink):
    """This button opens the Spark UI (of the master, or the history server) that `[ddlrepl] spark_ui_url` names."""

    name = "Spark UI"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address in `[ddlrepl] spark_ui_url`; empty: no button."""
        return option("spark_ui_url")


def channel_page(operator: BaseOperator, part: str, **more: str) -> str:
    """Return the address of our page for the operator's channel; empty when its file can't be read."""
    channel = _name(str(getattr(operator, "channel", "")))
    if not channel:
        return ""
    return f"{page('ddlrepl', 'channel')}?{urlencode({'channel': channel, **more})}#{part}"


@lru_cache(maxsize=1)
def _name(file: str) -> str:
    """Return the name of a channel file's channel; empty when the file can't be read. Cached, as each link asks."""
    try:
        return load_channel(file).name
    except ConfigError:
        return ""
