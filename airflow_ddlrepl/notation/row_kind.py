"""This module reads the kinds of row changes that a channel file may leave out."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.notation.section import any_case

AnyRowKind = Annotated[RowKind, BeforeValidator(lambda v: v.upper() if isinstance(v, str) else v), any_case(RowKind)]
