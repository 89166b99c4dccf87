"""This module is the table of what scripts for Oracle Streams call, and what becomes of it."""

from __future__ import annotations

import re

from airflow_ddlrepl.notation.import_findings import Entry, Fate, entries
from airflow_ddlrepl.streams.calls.section import procedures

_SAME_NAME = {"remove_client_rule": "REMOVE_RULE"}
TAKEN = {
    f"{one.package}.{_SAME_NAME.get(name, name.upper())}": one for name, one in procedures().items() if one.is_imported
}
"""The procedures that are taken, by PACKAGE.NAME."""
_QUEUES = "messages lie in the trail, and are passed on by the channel's runs"
_RUNS = "the channel's runs start and stop its stages"
_HANDLER = "handlers are Python functions here: write it, and list it in `functions` of the section `streams`"
LOGGING = re.compile(r"\bSUPPLEMENTAL\s+LOG\b", re.IGNORECASE)
WHY_LOGGING = "what the log has to hold is set up by `ddlrepl activate` (docs/postgresql.md)"
_CONFLICTS = (
    "a row that is not as expected waits in the error queue here: write a handler in Python by SET_DML_HANDLER with"
    " error_handler, or retry it by `ddlrepl errors`"
)
_CONTEXT = "conditions have the variables :dml and :ddl, and no evaluation context of their own: leave it out"
_FORMATS = "it maps formats of messages, which no transformation of a rule does: change them where they are sent"
_PAIRS = (
    "its pairs are not known: write SET_RULE_TRANSFORM_FUNCTION, SET_EXECUTE or SET_ENQUEUE_DESTINATION for the rule"
)
_TAG = "what an apply process writes always has a tag, that of its origin: rules with include_tagged_lcr take it"
_START = "activation reads every table from one snapshot, and goes on from there"
OTHER: dict[str, Entry] = {
    **entries(Fate.SAFE, _QUEUES, """
        DBMS_STREAMS_ADM.SET_UP_QUEUE DBMS_STREAMS_ADM.REMOVE_QUEUE DBMS_AQADM.CREATE_QUEUE_TABLE
        DBMS_AQADM.CREATE_QUEUE DBMS_AQADM.START_QUEUE DBMS_AQADM.STOP_QUEUE DBMS_AQADM.DROP_QUEUE
        DBMS_AQADM.DROP_QUEUE_TABLE DBMS_AQADM.SCHEDULE_PROPAGATION DBMS_AQADM.UNSCHEDULE_PROPAGATION
        DBMS_AQADM.ALTER_PROPAGATION_SCHEDULE DBMS_AQADM.ENABLE_PROPAGATION_SCHEDULE
        DBMS_AQADM.DISABLE_PROPAGATION_SCHEDULE DBMS_AQADM.GRANT_QUEUE_PRIVILEGE
        DBMS_AQADM.GRANT_SYSTEM_PRIVILEGE DBMS_AQADM.CREATE_AQ_AGENT DBMS_AQADM.ENABLE_DB_ACCESS"""),
    **entries(
        Fate.ATTENTION,
        "who reads messages is a messaging client here: make it by ADD_MESSAGE_RULE with streams_type dequeue",
        "DBMS_AQADM.ADD_SUBSCRIBER DBMS_AQADM.REMOVE_SUBSCRIBER",
    ),
    **entries(Fate.SAFE, _RUNS, """
        DBMS_CAPTURE_ADM.START_CAPTURE DBMS_CAPTURE_ADM.STOP_CAPTURE DBMS_APPLY_ADM.START_APPLY
        DBMS_APPLY_ADM.STOP_APPLY DBMS_PROPAGATION_ADM.START_PROPAGATION DBMS_PROPAGATION_ADM.STOP_PROPAGATION"""),
    **entries(Fate.SAFE, "rights are given in the databases themselves", """
        DBMS_STREAMS_AUTH.GRANT_ADMIN_PRIVILEGE DBMS_STREAMS_AUTH.REVOKE_ADMIN_PRIVILEGE
        DBMS_STREAMS_AUTH.GRANT_REMOTE_ADMIN_ACCESS DBMS_RULE_ADM.GRANT_SYSTEM_PRIVILEGE
        DBMS_XSTREAM_AUTH.GRANT_ADMIN_PRIVILEGE DBMS_XSTREAM_AUTH.REVOKE_ADMIN_PRIVILEGE
        DBMS_GOLDENGATE_AUTH.GRANT_ADMIN_PRIVILEGE DBMS_GOLDENGATE_AUTH.REVOKE_ADMIN_PRIVILEGE
        DBMS_STREAMS_AUTH.REVOKE_REMOTE_ADMIN_ACCESS DBMS_RULE_ADM.GRANT_OBJECT_PRIVILEGE
        DBMS_RULE_ADM.REVOKE_SYSTEM_PRIVILEGE DBMS_RULE_ADM.REVOKE_OBJECT_PRIVILEGE"""),
    **entries(Fate.SAFE, "it changes nothing", """
        DBMS_OUTPUT.PUT_LINE DBMS_OUTPUT.PUT DBMS_OUTPUT.NEW_LINE DBMS_OUTPUT.ENABLE DBMS_LOCK.SLEEP DBMS_SESSION.SLEEP
        DBMS_STREAMS.COMPATIBLE_9_2 DBMS_STREAMS.COMPATIBLE_10_1 DBMS_STREAMS.COMPATIBLE_10_2
        DBMS_STREAMS.COMPATIBLE_11_1 DBMS_STREAMS.COMPATIBLE_11_2 DBMS_STREAMS.COMPATIBLE_12_1
        DBMS_STREAMS.MAX_COMPATIBLE DBMS_STREAMS.GET_INFORMATION DBMS_STREAMS.GET_STREAMS_NAME
        DBMS_STREAMS.GET_STREAMS_TYPE DBMS_STREAMS.CONVERT_ANYDATA_TO_LCR_ROW DBMS_STREAMS.CONVERT_ANYDATA_TO_LCR_DDL
        DBMS_STREAMS.GET_TAG DBMS_STREAMS_ADM.GET_TAG DBMS_STREAMS_ADM.GET_SCN_MAPPING
        DBMS_STREAMS_ADM.GET_MESSAGE_TRACKING DBMS_APPLY_ADM.GET_ERROR_MESSAGE
        DBMS_STREAMS_ADM.PURGE_SOURCE_CATALOG"""),
    **entries(Fate.SAFE, "`ddlrepl errors retry` and `delete` do it here (docs/suspended_tables.md)", """
        DBMS_APPLY_ADM.EXECUTE_ERROR DBMS_APPLY_ADM.EXECUTE_ALL_ERRORS DBMS_APPLY_ADM.DELETE_ERROR
        DBMS_APPLY_ADM.DELETE_ALL_ERRORS"""),
    **entries(Fate.ATTENTION, "the order of changes follows from the source's commits alone: nothing is to be set", """
        DBMS_APPLY_ADM.SET_VALUE_DEPENDENCY DBMS_APPLY_ADM.CREATE_OBJECT_DEPENDENCY
        DBMS_APPLY_ADM.DROP_OBJECT_DEPENDENCY"""),
    **entries(Fate.ATTENTION, "a change has the attributes that its source gives it: look what rules read", """
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
    **entries(Fate.REFUSED, f"it runs statements in place of changes: {_HANDLER}", """
        DBMS_APPLY_ADM.ADD_STMT_HANDLER DBMS_APPLY_ADM.CREATE_STMT_HANDLER
        DBMS_APPLY_ADM.REMOVE_STMT_HANDLER DBMS_STREAMS_HANDLER_ADM.CREATE_STMT_HANDLER
        DBMS_STREAMS_HANDLER_ADM.ADD_STMT_TO_HANDLER DBMS_STREAMS_HANDLER_ADM.REMOVE_STMT_FROM_HANDLER
        DBMS_STREAMS_HANDLER_ADM.DROP_STMT_HANDLER DBMS_APPLY_ADM.ADD_STMT_TO_HANDLER
        DBMS_APPLY_ADM.SET_CHANGE_HANDLER DBMS_STREAMS_ADM.SET_MESSAGE_NOTIFICATION
        DBMS_STREAMS_ADM.SET_MESSAGE_TRACKING"""),
    **entries(Fate.REFUSED, _CONFLICTS, """
        DBMS_APPLY_ADM.SET_UPDATE_CONFLICT_HANDLER DBMS_APPLY_ADM.COMPARE_OLD_VALUES
        DBMS_APPLY_ADM.SET_DML_CONFLICT_HANDLER DBMS_APPLY_ADM.HANDLE_COLLISIONS
        DBMS_APPLY_ADM.SET_REPERROR_HANDLER"""),
    **entries(
        Fate.ATTENTION,
        "rows are found by the primary key of the target's table: write ALTER TABLE … ADD PRIMARY KEY there,"
        " and let the source log them (REPLICA IDENTITY FULL, or USING INDEX)",
        "DBMS_APPLY_ADM.SET_KEY_COLUMNS",
    ),
    **entries(
        Fate.ATTENTION,
        "what the script's own session changes has no tag here: a session says SET ddlrepl.tag in PostgreSQL",
        "DBMS_STREAMS.SET_TAG DBMS_STREAMS_ADM.SET_TAG",
    ),
    **entries(Fate.REFUSED, _CONTEXT, """
        DBMS_RULE_ADM.CREATE_EVALUATION_CONTEXT DBMS_RULE_ADM.ALTER_EVALUATION_CONTEXT"""),
    **entries(Fate.ATTENTION, _FORMATS, """
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
FAMILY = re.compile(
    r"DBMS_(?:STREAMS|XSTREAM|GOLDENGATE|CAPTURE|APPLY|PROPAGATION|RULE|AQ|AQADM|AQELM|AQIN|TRANSFORM)(?:_\w+)?",
    re.IGNORECASE,
)
"""The packages of Streams and what belongs to it: a call that is not known is refused, and never only noted."""
CALL = re.compile(rf'(?<![\w$#])"?({FAMILY.pattern})"?\s*\.\s*"?(\w+)', re.IGNORECASE)
"""A call of one of these packages, wherever it stands in a text."""
BUILT = re.compile(rf"{CALL.pattern}\s*[(;]", re.IGNORECASE)
"""Such a call, or the beginning of one, in a text of which a script builds a statement."""
DECISIVE = {
    "DBMS_AQADM.ADD_SUBSCRIBER": (
        ("queue_name", "subscriber", "rule", "transformation"),
        {
            "rule": "a messaging client takes what its rules say: write them by ADD_MESSAGE_RULE",
            "transformation": "messages have one format here: change them where they are sent",
        },
    ),
}
"""Arguments of procedures that are not taken which decide what arrives: their order, and why they are refused."""
_LIMITS = "a client goes on without such a limit: take it out, or let the DAG of the channel end"
CLIENT_PARAMETERS: dict[str, Entry] = {
    **entries(Fate.REFUSED, "which changes are taken is said by rules alone: write it as a negative rule", """
        ignore_transaction ignore_unsupported_table include_objects excludetag excludetrans excludeuser excludeuserid
        getapplops getreplicates exclude_tag capture_sequence_nextval"""),
    **entries(Fate.REFUSED, _LIMITS, "maximum_scn time_limit message_limit transaction_limit"),
    **entries(Fate.REFUSED, _CONFLICTS, "handlecollisions reperror allow_duplicate_rows"),
    **entries(Fate.REFUSED, "triggers of the target never fire, and values stay as they are", """
        suppresstriggers rtrim_on_implicit_conversion preserve_encryption"""),
    **entries(Fate.SAFE, "parallelism and limits are those of Spark and of the channel file", """
        parallelism disable_on_limit disable_on_error downstream_real_time_mine merge_threshold split_threshold
        message_tracking_frequency startup_seconds trace_level write_alert_log use_rac_service xout_client_exists
        annotateddlsize max_sga_size max_parallelism commit_serialization txn_lcr_spill_threshold
        txn_age_spill_threshold compute_lcr_dep_on_arrival compare_key_only grouptransops eager_size
        optimize_progress_table auto_txn_buffer_size _checkpoint_frequency _sga_size _txn_buffer_size _hash_table_size
        _dynamic_stmts _checkpoint_force _min_apply_percentage capture_idkey_objects optimize_self_updates
        inline_lob_optimization skip_autofiltered_table_ddl set_autofiltered_table_ddl"""),
}  # fmt: skip
"""Parameters of capture and apply processes, as SET_PARAMETER sets them; one that is not known is refused."""
UNLIMITED = frozenset(("INFINITE", "N", "NONE"))
"""Values with which a parameter limits and leaves out nothing."""
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
        **entries(Fate.REFUSED, _TAG, "apply_tag"),
        **entries(Fate.REFUSED, "it writes to one database: name its location in `targets`", "apply_database_link"),
        **entries(Fate.SAFE, _RUNS, "apply_captured"),
    },
    "ALTER_APPLY": {
        **entries(Fate.ATTENTION, _HANDLER, "message_handler ddl_handler precommit_handler"),
        **entries(Fate.REFUSED, _TAG, "apply_tag remove_apply_tag"),
    },
    "SET_DML_HANDLER": entries(Fate.ATTENTION, _HANDLER, "user_procedure"),
    "CREATE_PROPAGATION": entries(Fate.SAFE, _QUEUES, "queue_to_queue original_propagation_name auto_merge_threshold"),
    "CREATE_RULE": entries(Fate.REFUSED, _PAIRS, "action_context"),
    "ALTER_RULE": {
        **entries(Fate.REFUSED, _PAIRS, "action_context"),
        **entries(Fate.REFUSED, "take its pairs away by calls with NULL", "remove_action_context"),
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
