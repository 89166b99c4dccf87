"""This module reads the kinds of row changes that a channel file may leave out."""

from __future__ import annotations

from typing import Annotated

from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.notation.section import IN_UPPER_CASE, any_case

AnyRowKind = Annotated[RowKind, IN_UPPER_CASE, any_case(RowKind)]
