"""This module lists the words of DDL, DDLOPTIONS, DDLSUBST and DDLERROR, with what becomes of each option."""

from __future__ import annotations

from airflow_ddlrepl.notation.import_findings import Entry, Fate, entries, taken

SCOPES = frozenset(("MAPPED", "UNMAPPED", "OTHER", "ALL"))
CLAUSE_WORDS = frozenset((
    *SCOPES, "OPTYPE", "OBJTYPE", "OBJNAME", "INSTR", "INSTRCOMMENTS", "INSTRWORDS", "INSTRCOMMENTSWORDS",
    "STAYMETADATA", "EVENTACTIONS", "ALLOWEMPTYOWNER", "ALLOWEMPTYOBJECT", "SOURCECATALOG", "ALLCATALOGS",
))  # fmt: skip
"""Words of an INCLUDE or EXCLUDE clause."""
CONTINUING = CLAUSE_WORDS | {
    "INCLUDE", "EXCLUDE", "WITH", "RETRYOP", "MAXRETRIES", "RETRYDELAY", "IGNORE", "ABEND", "DISCARD",
    "IGNOREMISSINGOBJECTS", "ABENDONMISSINGOBJECTS", "REMOVECOMMENTS", "BEFORE", "AFTER",
}  # fmt: skip
"""Words that belong to the parameter of the line before when they begin a line."""

DDL_OPTIONS: dict[str, Entry] = {
    **taken("MAPDERIVED NOMAPDERIVED GETREPLICATES IGNOREREPLICATES"),
    **entries(Fate.SAFE, "`ddlrepl status` and Airflow report runs", "REPORT NOREPORT"),
    **entries(Fate.SAFE, "applications' DDL is captured anyway", "GETAPPLOPS"),
    **entries(
        Fate.SAFE,
        "metadata of tables comes from the source's log",
        "UPDATEMETADATA CROSSRENAME NOCROSSRENAME NOCAPTUREGLOBALTEMPTABLE",
    ),
    **entries(Fate.SAFE, "passwords of users do not replicate", "NOREPLICATEPASSWORD"),
    **entries(Fate.SAFE, "DDL runs with the target's connection", "NOUSEOWNERFORSESSION"),
    **entries(Fate.SAFE, "names inside other schemas follow MAP", "NOMAPSCHEMAS MAPSCHEMAS"),
    **entries(
        Fate.ATTENTION,
        "temporary tables belong to their sessions here: make them at the target",
        "CAPTUREGLOBALTEMPTABLE",
    ),
    **entries(
        Fate.ATTENTION,
        "what a Replicat runs carries a replication origin where the target's log is captured: for none, let its role"
        " have no EXECUTE on pg_replication_origin_session_setup",
        "NOTAG",
    ),
    **entries(
        Fate.ATTENTION,
        "passwords of users do not replicate: set them at the target by ALTER ROLE",
        "REPLICATEPASSWORD",
    ),
    **entries(
        Fate.ATTENTION,
        "DDL runs with the target's connection: what it makes belongs to its role, change that by ALTER … OWNER TO",
        "USEOWNERFORSESSION _USEOWNERFORSESSION",
    ),
    **entries(
        Fate.REFUSED,
        "DDL of applications would be captured all the same: leave it out by EXCLUDE clauses of DDL, or write no DDL",
        "IGNOREAPPLOPS",
    ),
    **entries(
        Fate.REFUSED, "names would be mapped all the same: write MAPs with the names that are meant", "IGNOREMAPPING"
    ),
}
"""Options of DDLOPTIONS that stand alone."""
_PASSWORDS = "users are created with the statement's own text: set their passwords at the target by ALTER ROLE"
DDL_OPTIONS_WITH_VALUES: dict[str, Entry] = {
    **entries(Fate.ATTENTION, _PASSWORDS, "DEFAULTUSERPASSWORD DEFAULTUSERPASSWORDALIAS PASSWORD"),
    **entries(Fate.SAFE, "passwords of users do not replicate", "USEPASSWORDVERIFIERLEVEL"),
    **entries(
        Fate.REFUSED,
        "DDL of a session is told apart by its origin, name or role: `capture: {ignore_sessions: …}`, and no tag"
        " (docs/both_directions.md)",
        "TAG SETTAG INCLUDETAG EXCLUDETAG",
    ),
}
"""Options of DDLOPTIONS that values follow; MAPSESSIONSCHEMA is read on its own."""

OPERATIONS = frozenset((
    "CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE", "COMMENT", "GRANT", "REVOKE", "ANALYZE", "PURGE", "FLASHBACK",
    "REFRESH", "REINDEX", "SECURITY", "IMPORT", "AUDIT", "NOAUDIT",
))  # fmt: skip
"""What OPTYPE may name."""
OBJECT_TYPES = frozenset((
    "TABLE", "INDEX", "TRIGGER", "SEQUENCE", "VIEW", "MATERIALIZED VIEW", "MATERIALIZED VIEW LOG", "FUNCTION",
    "PACKAGE", "PACKAGE BODY", "PROCEDURE", "ROUTINE", "SYNONYM", "TYPE", "TYPE BODY", "DOMAIN", "SCHEMA", "ROLE",
    "USER", "GROUP", "DATABASE", "DATABASE LINK", "TABLESPACE", "EXTENSION", "RULE", "POLICY", "CLUSTER", "CONTEXT",
    "DIRECTORY", "LIBRARY", "PROFILE", "EVENT TRIGGER", "FOREIGN TABLE", "PUBLICATION", "SUBSCRIPTION", "AGGREGATE",
    "COLLATION", "OPERATOR", "SERVER", "STATISTICS", "EVENT", "JAVA", "SYSTEM",
))  # fmt: skip
"""What OBJTYPE may name."""
