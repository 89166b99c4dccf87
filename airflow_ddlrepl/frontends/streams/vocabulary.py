"""This module is the table of what scripts for Oracle Streams call, and what becomes of it."""

from __future__ import annotations

import re

from airflow_ddlrepl.config.streams.section import PROCEDURES
from airflow_ddlrepl.frontends.findings import Entry, Fate, entries

_SAME_NAME = {"remove_client_rule": "REMOVE_RULE"}
TAKEN = {
    f"{one.package}.{_SAME_NAME.get(name, name.upper())}": one for name, one in PROCEDURES.items() if one.is_imported
}
"""The procedures that are taken, by PACKAGE.NAME."""
_QUEUES = "messages lie in the trail, and are passed on by the channel's runs"
_RUNS = "the channel's runs start and stop its stages"
_HANDLER = "handlers are Python functions here: write it, and list it in `functions` of the section `streams`"
LOGGING = re.compile(r"\bSUPPLEMENTAL\s+LOG\b", re.IGNORECASE)
WHY_LOGGING = "what the log has to hold is set up by `ddlrepl activate` (docs/postgresql.md)"
_START = "activation reads every table from one snapshot, and goes on from there"
OTHER: dict[str, Entry] = {
    **entries(Fate.SAFE, _QUEUES, """
        DBMS_STREAMS_ADM.SET_UP_QUEUE DBMS_STREAMS_ADM.REMOVE_QUEUE DBMS_AQADM.CREATE_QUEUE_TABLE
        DBMS_AQADM.CREATE_QUEUE DBMS_AQADM.START_QUEUE DBMS_AQADM.STOP_QUEUE DBMS_AQADM.DROP_QUEUE
        DBMS_AQADM.DROP_QUEUE_TABLE DBMS_AQADM.SCHEDULE_PROPAGATION DBMS_AQADM.UNSCHEDULE_PROPAGATION
        DBMS_AQADM.ALTER_PROPAGATION_SCHEDULE DBMS_AQADM.ENABLE_PROPAGATION_SCHEDULE
        DBMS_AQADM.DISABLE_PROPAGATION_SCHEDULE DBMS_AQADM.GRANT_QUEUE_PRIVILEGE
        DBMS_AQADM.GRANT_SYSTEM_PRIVILEGE DBMS_AQADM.CREATE_AQ_AGENT DBMS_AQADM.ENABLE_DB_ACCESS
        DBMS_AQADM.ADD_SUBSCRIBER"""),
    **entries(Fate.SAFE, _RUNS, """
        DBMS_CAPTURE_ADM.START_CAPTURE DBMS_CAPTURE_ADM.STOP_CAPTURE DBMS_APPLY_ADM.START_APPLY
        DBMS_APPLY_ADM.STOP_APPLY DBMS_PROPAGATION_ADM.START_PROPAGATION DBMS_PROPAGATION_ADM.STOP_PROPAGATION"""),
    **entries(Fate.SAFE, "rights are given in the databases themselves", """
        DBMS_STREAMS_AUTH.GRANT_ADMIN_PRIVILEGE DBMS_STREAMS_AUTH.REVOKE_ADMIN_PRIVILEGE
        DBMS_STREAMS_AUTH.GRANT_REMOTE_ADMIN_ACCESS DBMS_RULE_ADM.GRANT_SYSTEM_PRIVILEGE
        DBMS_STREAMS_AUTH.REVOKE_REMOTE_ADMIN_ACCESS DBMS_RULE_ADM.GRANT_OBJECT_PRIVILEGE
        DBMS_RULE_ADM.REVOKE_SYSTEM_PRIVILEGE DBMS_RULE_ADM.REVOKE_OBJECT_PRIVILEGE"""),
    **entries(Fate.SAFE, "it changes nothing", """
        DBMS_OUTPUT.PUT_LINE DBMS_OUTPUT.PUT DBMS_OUTPUT.NEW_LINE DBMS_OUTPUT.ENABLE DBMS_LOCK.SLEEP DBMS_SESSION.SLEEP
        DBMS_STREAMS.GET_TAG DBMS_STREAMS_ADM.GET_TAG DBMS_STREAMS_ADM.GET_SCN_MAPPING
        DBMS_STREAMS_ADM.GET_MESSAGE_TRACKING DBMS_APPLY_ADM.GET_ERROR_MESSAGE
        DBMS_STREAMS_ADM.PURGE_SOURCE_CATALOG"""),
    **entries(Fate.SAFE, "`ddlrepl errors retry` and `delete` do it here (docs/suspended_tables.md)", """
        DBMS_APPLY_ADM.EXECUTE_ERROR DBMS_APPLY_ADM.EXECUTE_ALL_ERRORS DBMS_APPLY_ADM.DELETE_ERROR
        DBMS_APPLY_ADM.DELETE_ALL_ERRORS"""),
    **entries(Fate.ATTENTION, "the order of changes follows from the source's commits alone", """
        DBMS_APPLY_ADM.SET_VALUE_DEPENDENCY DBMS_APPLY_ADM.CREATE_OBJECT_DEPENDENCY
        DBMS_APPLY_ADM.DROP_OBJECT_DEPENDENCY"""),
    **entries(Fate.ATTENTION, "a change has the attributes that its source gives it", """
        DBMS_CAPTURE_ADM.INCLUDE_EXTRA_ATTRIBUTE"""),
    **entries(Fate.REFUSED, "name the rule set in CREATE_SYNC_CAPTURE", "DBMS_CAPTURE_ADM.ALTER_SYNC_CAPTURE"),
    **entries(Fate.SAFE, "rule sets and rules that nothing uses do no harm", """
        DBMS_RULE_ADM.DROP_RULE_SET DBMS_CAPTURE_ADM.DROP_CAPTURE DBMS_APPLY_ADM.DROP_APPLY
        DBMS_PROPAGATION_ADM.DROP_PROPAGATION DBMS_STREAMS_ADM.REMOVE_STREAMS_CONFIGURATION"""),
    **entries(Fate.ATTENTION, _START, """
        DBMS_APPLY_ADM.SET_TABLE_INSTANTIATION_SCN DBMS_APPLY_ADM.SET_SCHEMA_INSTANTIATION_SCN
        DBMS_APPLY_ADM.SET_GLOBAL_INSTANTIATION_SCN DBMS_CAPTURE_ADM.PREPARE_TABLE_INSTANTIATION
        DBMS_CAPTURE_ADM.PREPARE_SCHEMA_INSTANTIATION DBMS_CAPTURE_ADM.PREPARE_GLOBAL_INSTANTIATION
        DBMS_CAPTURE_ADM.PREPARE_SYNC_INSTANTIATION DBMS_CAPTURE_ADM.BUILD
        DBMS_CAPTURE_ADM.ABORT_TABLE_INSTANTIATION DBMS_CAPTURE_ADM.ABORT_SCHEMA_INSTANTIATION
        DBMS_CAPTURE_ADM.ABORT_GLOBAL_INSTANTIATION DBMS_CAPTURE_ADM.ABORT_SYNC_INSTANTIATION"""),
    **entries(Fate.ATTENTION, _HANDLER, """
        DBMS_APPLY_ADM.ADD_STMT_HANDLER DBMS_APPLY_ADM.CREATE_STMT_HANDLER
        DBMS_APPLY_ADM.REMOVE_STMT_HANDLER DBMS_STREAMS_HANDLER_ADM.CREATE_STMT_HANDLER
        DBMS_STREAMS_HANDLER_ADM.ADD_STMT_TO_HANDLER DBMS_STREAMS_HANDLER_ADM.REMOVE_STMT_FROM_HANDLER
        DBMS_STREAMS_HANDLER_ADM.DROP_STMT_HANDLER DBMS_APPLY_ADM.ADD_STMT_TO_HANDLER
        DBMS_APPLY_ADM.SET_CHANGE_HANDLER DBMS_STREAMS_ADM.SET_MESSAGE_NOTIFICATION
        DBMS_STREAMS_ADM.SET_MESSAGE_TRACKING"""),
    **entries(Fate.ATTENTION, "the source's changes win at a target (docs/suspended_tables.md)", """
        DBMS_APPLY_ADM.SET_UPDATE_CONFLICT_HANDLER DBMS_APPLY_ADM.COMPARE_OLD_VALUES
        DBMS_APPLY_ADM.SET_DML_CONFLICT_HANDLER DBMS_APPLY_ADM.HANDLE_COLLISIONS
        DBMS_APPLY_ADM.SET_REPERROR_HANDLER"""),
    **entries(Fate.ATTENTION, "set a key of the target's table in target_tables", "DBMS_APPLY_ADM.SET_KEY_COLUMNS"),
    **entries(Fate.ATTENTION, "a tag of a session is `ddlrepl.tag` in PostgreSQL", """
        DBMS_STREAMS.SET_TAG DBMS_STREAMS_ADM.SET_TAG"""),
    **entries(Fate.REFUSED, "conditions have the variables :dml and :ddl, and no evaluation context of their own", """
        DBMS_RULE_ADM.CREATE_EVALUATION_CONTEXT DBMS_RULE_ADM.ALTER_EVALUATION_CONTEXT"""),
    **entries(Fate.ATTENTION, "it maps formats of messages, which no transformation of a rule does", """
        DBMS_TRANSFORM.CREATE_TRANSFORMATION DBMS_TRANSFORM.MODIFY_TRANSFORMATION
        DBMS_TRANSFORM.DROP_TRANSFORMATION"""),
    **entries(Fate.REFUSED, "it sets up a whole configuration: write its rules, or the channel file", """
        DBMS_STREAMS_ADM.MAINTAIN_GLOBAL DBMS_STREAMS_ADM.MAINTAIN_SCHEMAS DBMS_STREAMS_ADM.MAINTAIN_TABLES
        DBMS_STREAMS_ADM.MAINTAIN_TTS DBMS_STREAMS_ADM.MAINTAIN_SIMPLE_TTS DBMS_STREAMS_ADM.PRE_INSTANTIATION_SETUP
        DBMS_STREAMS_ADM.POST_INSTANTIATION_SETUP DBMS_STREAMS_ADM.MAINTAIN_CHANGE_TABLE
        DBMS_STREAMS_ADM.SPLIT_STREAMS DBMS_STREAMS_ADM.MERGE_STREAMS DBMS_STREAMS_ADM.MERGE_STREAMS_JOB
        DBMS_STREAMS_ADM.CLEANUP_INSTANTIATION_SETUP DBMS_STREAMS_ADM.RECOVER_OPERATION"""),
}  # fmt: skip
PACKAGES = frozenset(name.partition(".")[0] for name in (*TAKEN, *OTHER))
PARAMETERS: dict[str, dict[str, Entry]] = {
    "CREATE_CAPTURE": {
        **entries(Fate.ATTENTION, _START, "start_scn first_scn use_database_link logfile_assignment source_root_name"),
        **entries(Fate.SAFE, _RUNS, "checkpoint_retention_time start_time capture_class"),
    },
    "ALTER_CAPTURE": {
        **entries(Fate.ATTENTION, _START, "start_scn first_scn use_database_link start_time"),
        **entries(Fate.SAFE, _RUNS, "checkpoint_retention_time"),
    },
    "CREATE_APPLY": {
        **entries(Fate.ATTENTION, _HANDLER, "message_handler ddl_handler precommit_handler"),
        **entries(Fate.ATTENTION, "a target's changes are tagged with the name of their origin", "apply_tag"),
        **entries(Fate.SAFE, _RUNS, "apply_captured apply_database_link"),
    },
    "ALTER_APPLY": {
        **entries(Fate.ATTENTION, _HANDLER, "message_handler ddl_handler precommit_handler"),
        **entries(Fate.ATTENTION, "a target's changes are tagged with the name of their origin", "apply_tag"),
        **entries(Fate.SAFE, _RUNS, "remove_apply_tag"),
    },
    "SET_DML_HANDLER": entries(Fate.ATTENTION, _HANDLER, "user_procedure"),
    "CREATE_PROPAGATION": entries(Fate.SAFE, _QUEUES, "queue_to_queue original_propagation_name auto_merge_threshold"),
    "CREATE_RULE": entries(Fate.REFUSED, "an action context is set by procedures alone", "action_context"),
    "ALTER_RULE": {
        **entries(Fate.REFUSED, "an action context is set by procedures alone", "action_context remove_action_context"),
        **entries(Fate.SAFE, "comments are not kept", "rule_comment remove_rule_comment remove_evaluation_context"),
    },
    "KEEP_COLUMNS": entries(Fate.REFUSED, "write the columns as a list in column_list", "column_table"),
}  # fmt: skip
"""Parameters of taken procedures that are not taken, or that something is to be done for."""
POSITIONAL = {
    "CREATE_RULE": 3,
    "ALTER_RULE": 3,
    "CREATE_CAPTURE": 3,
    "ALTER_CAPTURE": 3,
    "CREATE_APPLY": 3,
    "ALTER_APPLY": 3,
    "ADD_COLUMN": 4,
}
"""How many parameters may be given without their names, where others that are not taken stand among the rest."""
_SQLPLUS = """
@ @@ ACC ACCEPT ARCHIVE BREAK BTITLE CLEAR COL COLUMN COMPUTE CONN CONNECT COPY DEF DEFINE DESC DESCRIBE DISC
DISCONNECT ECHO EXIT HOST L LIST PASSWORD PAU PAUSE PRINT PRO PROMPT QUIT REM REMARK RUN SET SHO SHOW SHUTDOWN SPO
SPOOL START STARTUP TIMING TTITLE UNDEF UNDEFINE VAR VARIABLE WHENEVER
"""
_SQL = """
ALTER ANALYZE AUDIT COMMENT COMMIT CREATE DELETE DROP GRANT INSERT LOCK MERGE RENAME REVOKE ROLLBACK SELECT TRUNCATE
UPDATE WITH
"""
SQLPLUS, SQL = frozenset(_SQLPLUS.split()), frozenset(_SQL.split())
"""The first words of SQL*Plus's own lines, and of statements of SQL."""
