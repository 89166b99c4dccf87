"""This module is the table of the member functions of LCRs that conditions call, and of those that they can't."""

from __future__ import annotations

from typing import NamedTuple

from airflow_ddlrepl.streams.condition.kinds import Kind

ROW, DDL = "row", "ddl"


class Member(NamedTuple):
    """A member is a function of an LCR. attribute: of the LCR's class. lcrs: the kinds of LCR that have it."""

    kind: Kind
    attribute: str
    lcrs: tuple[str, ...] = (ROW, DDL)


MEMBERS = {
    "get_command_type": Member(Kind.TEXT, "command"),
    "get_object_owner": Member(Kind.TEXT, "owner"),
    "get_object_name": Member(Kind.TEXT, "name"),
    "get_source_database_name": Member(Kind.TEXT, "source_database"),
    "get_tag": Member(Kind.RAW, "tag"),
    "is_null_tag": Member(Kind.TEXT, "tag"),
    "get_transaction_id": Member(Kind.TEXT, "transaction_id"),
    "get_scn": Member(Kind.NUMBER, "scn"),
    "get_commit_scn": Member(Kind.NUMBER, "commit_scn"),
    "get_source_time": Member(Kind.MOMENT, "source_time"),
    "get_base_table_owner": Member(Kind.TEXT, "base_owner", (DDL,)),
    "get_base_table_name": Member(Kind.TEXT, "base_name", (DDL,)),
    "get_object_type": Member(Kind.TEXT, "object_type", (DDL,)),
    "get_current_schema": Member(Kind.TEXT, "current_schema", (DDL,)),
    "get_logon_user": Member(Kind.TEXT, "logon_user", (DDL,)),
    "get_ddl_text": Member(Kind.TEXT, "text", (DDL,)),
}
"""Functions without arguments, in lower case."""
EXTRA_ATTRIBUTES = {
    "row_id": Kind.TEXT,
    "serial#": Kind.NUMBER,
    "session#": Kind.NUMBER,
    "thread#": Kind.NUMBER,
    "tx_name": Kind.TEXT,
    "username": Kind.TEXT,
}
"""What get_extra_attribute may name."""
NOT_HERE = {
    "get_values": "it gives a list: name a column with get_value",
    "get_compatible": "an LCR has no compatibility level here",
    "get_lob_information": "large objects are whole values here",
    "get_lob_offset": "large objects are whole values here",
    "get_lob_operation_size": "large objects are whole values here",
    "get_long_information": "large objects are whole values here",
    "get_xml_information": "large objects are whole values here",
    "get_edition_name": "there are no editions here",
    "get_thread_number": "a log has one thread here",
    "gettypename": "a column's type is known from its table",
}
"""Member functions of Oracle that conditions can't call, with the reason."""
