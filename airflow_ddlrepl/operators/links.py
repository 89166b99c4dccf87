"""These are buttons on a task's page: the channel's status, the SQL that was run, its DDL history, the Spark UI."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

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
    """This button opens the channel's page: how it is, what waits for a person, and what helps."""

    name = "Channel status"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of the channel's page."""
        return channel_page(operator)


class ExecutedSqlLink(NamedLink):
    """This button opens the statements that this run has executed at the targets."""

    name = "Executed SQL"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of our page with the statements of the task's run."""
        return channel_page(operator, "runs", ti_key.run_id)


class DdlHistoryLink(NamedLink):
    """This button opens the schema changes of the source, each with what became of it at the targets."""

    name = "DDL history"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of the schema changes on the channel's page."""
        address = channel_page(operator)
        return f"{address}#changes" if address else ""


class SparkUiLink(NamedLink):
    """This button opens the Spark UI (of the master, or the history server) that `[ddlrepl] spark_ui_url` names."""

    name = "Spark UI"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address in `[ddlrepl] spark_ui_url`; empty: no button."""
        return option("spark_ui_url")


def channel_page(operator: BaseOperator, *below: str) -> str:
    """Return the address of the page of the operator's channel, in Airflow's frame; empty when its file can't be read.

    below: the way from there to another page. Behind `plugin/replication` stands the address of the page itself, as
    Airflow has it for pages in its frame.
    """
    channel = _name(str(getattr(operator, "channel", "")))
    if not channel:
        return ""
    return f"{page('plugin', 'replication')}{page('ddlrepl', 'channels', channel, *below)}"


@lru_cache(maxsize=1)
def _name(file: str) -> str:
    """Return the name of a channel file's channel; empty when the file can't be read. Cached, as each link asks."""
    try:
        return load_channel(file).name
    except ConfigError:
        return ""
