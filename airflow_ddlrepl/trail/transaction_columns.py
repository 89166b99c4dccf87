"""This module says which columns the transactions of a trail have."""

from __future__ import annotations

import pyarrow as pa

from airflow_ddlrepl.model.stored_names import TRANSACTION_ID

TRANSACTIONS = pa.schema(
    [
        ("lsn", pa.int64()),
        (TRANSACTION_ID, pa.int64()),
        ("committed", pa.int64()),
        ("origin", pa.string()),
        ("changes", pa.int64()),
    ]
)
