"""This operator activates a channel: it prepares the source, enrolls its tables and loads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.config.sections.policies import Accepted, Enrollment, TrailChoice
from airflow_ddlrepl.flow.stages import ACTIVATE
from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class EnrollOperator(DdlReplSparkOperator):
    """Prepare a channel's source, enroll its tables and load those that exist. Repeated, it changes nothing.

    XCom: position, tables, refreshed (rows by table), left_out, contradicted (by table), reread (segments).

    :param enrollment: for shapes that are known: `keep` them; `regenerate` those that the log contradicts; `only` does
        this and nothing else. (templated)
    :param start_moment: `now`; or where capture begins again in the log that the source holds: `oldest`, an ISO 8601
        moment with its offset, a position of the log. (templated)
    :param trail: `keep`; or `new` when it is lost: another one begins, and every table is loaded again. (templated)
    :param accept: `source` or `repository` that was put back to an older copy: every table is loaded again; `server`:
        it was upgraded. (templated)
    :param refresh: load tables now; else the next cycle does. true or false. (templated)
    """

    runs = ACTIVATE

    template_fields: Sequence[str] = (
        *DdlReplSparkOperator.template_fields,
        "enrollment",
        "start_moment",
        "refresh",
        "trail",
        "accept",
    )

    def __init__(
        self,
        *,
        enrollment: Enrollment | str = "keep",
        start_moment: str = "now",
        refresh: bool | str = True,
        trail: TrailChoice | str = "keep",
        accept: Accepted | str = "nothing",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.enrollment, self.start_moment, self.refresh, self.trail = enrollment, start_moment, refresh, trail
        self.accept = accept
