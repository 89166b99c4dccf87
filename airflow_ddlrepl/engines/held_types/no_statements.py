"""This module names the schema changes that need no statement where a table is columns with types, and nothing else.

Keys and constraints are the source's to keep there, and values of types of the user's are texts.
"""

from __future__ import annotations

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.change_identity import ChangeIdentity
from airflow_ddlrepl.ddl.columns.change_nullability import ChangeNullability
from airflow_ddlrepl.ddl.tables.attach_partition import AttachPartition
from airflow_ddlrepl.ddl.tables.change_key import ChangeKey
from airflow_ddlrepl.ddl.tables.change_logging import ChangeLogging
from airflow_ddlrepl.ddl.tables.change_replica_identity import ChangeReplicaIdentity
from airflow_ddlrepl.ddl.tables.detach_partition import DetachPartition
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.ddl.types.create_type import CreateType, ForgetType
from airflow_ddlrepl.ddl.types.rename_type import RenameType

NO_STATEMENTS: frozenset[type[SchemaChange]] = frozenset(
    [
        ChangeTypeDefinition,
        ReplaceType,
        ChangeNullability,
        ChangeIdentity,
        ChangeKey,
        ChangeLogging,
        AttachPartition,
        DetachPartition,
        ChangeReplicaIdentity,
        CreateType,
        ForgetType,
        RenameType,
    ]
)
"""Kinds of changes; one of the texts of a type is `Renderer.new_texts`."""
