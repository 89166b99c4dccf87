"""This module knows the operations and object types of DDL, and which pairs of them can be mapped to other names."""

from __future__ import annotations

from airflow_ddlrepl.sql.words import Words, by_first_word

MODIFIERS = by_first_word(
    ("OR", "REPLACE"), ("IF", "NOT", "EXISTS"), ("IF", "EXISTS"), ("GLOBAL",), ("LOCAL",), ("PRIVATE",), ("TEMPORARY",),
    ("TEMP",), ("UNLOGGED",), ("UNIQUE",), ("BITMAP",), ("FULLTEXT",), ("SPATIAL",), ("EDITIONABLE",), ("RECURSIVE",),
    ("NONEDITIONABLE",), ("NO", "FORCE"), ("FORCE",), ("NOFORCE",), ("PUBLIC",), ("CONSTRAINT",), ("TRUSTED",),
    ("PROCEDURAL",), ("ONLINE",), ("OFFLINE",),
)  # fmt: skip
"""What may stand between the operation and the object type without changing either."""
_BEHIND_TYPE = by_first_word(("IF", "NOT", "EXISTS"), ("IF", "EXISTS"), ("CONCURRENTLY",))

TYPES = by_first_word(
    ("MATERIALIZED", "VIEW", "LOG"), ("MATERIALIZED", "VIEW"), ("FOREIGN", "DATA", "WRAPPER"), ("FOREIGN", "TABLE"),
    ("EVENT", "TRIGGER"), ("PACKAGE", "BODY"), ("TYPE", "BODY"), ("TEXT", "SEARCH"), ("ACCESS", "METHOD"),
    ("OPERATOR", "CLASS"), ("OPERATOR", "FAMILY"), ("DATABASE", "LINK"), ("USER", "MAPPING"), ("LARGE", "OBJECT"),
    ("DEFAULT", "PRIVILEGES"),
    *((word,) for word in (
        "TABLE", "INDEX", "TRIGGER", "SEQUENCE", "VIEW", "FUNCTION", "PACKAGE", "PROCEDURE", "ROUTINE", "SYNONYM",
        "TYPE", "DOMAIN", "SCHEMA", "ROLE", "USER", "GROUP", "DATABASE", "TABLESPACE", "EXTENSION", "RULE", "POLICY",
        "CLUSTER", "PUBLICATION", "SUBSCRIPTION", "AGGREGATE", "COLLATION", "CONVERSION", "CAST", "LANGUAGE", "SERVER",
        "OPERATOR", "STATISTICS", "TRANSFORM", "EVENT", "PROFILE", "DIRECTORY", "LIBRARY", "CONTEXT", "COLUMN",
        "JAVA", "SYSTEM",
    )),
)  # fmt: skip

OPERATIONS = frozenset((
    "CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE", "COMMENT", "GRANT", "REVOKE", "ANALYZE", "PURGE", "FLASHBACK",
    "REFRESH", "REINDEX", "SECURITY", "IMPORT", "AUDIT", "NOAUDIT",
))  # fmt: skip

_NAMED_OBJECTS = (
    "TABLE", "INDEX", "TRIGGER", "SEQUENCE", "VIEW", "MATERIALIZED VIEW", "FUNCTION", "PACKAGE", "PACKAGE BODY",
    "PROCEDURE", "SYNONYM",
)  # fmt: skip
MAPPABLE = frozenset((
    *((operation, of) for operation in ("CREATE", "ALTER", "DROP", "RENAME", "COMMENT") for of in _NAMED_OBJECTS),
    *((operation, of) for operation in ("GRANT", "REVOKE") for of in ("TABLE", "SEQUENCE", "MATERIALIZED VIEW")),
    *(("ANALYZE", of) for of in ("TABLE", "INDEX", "CLUSTER")),
    ("TRUNCATE", "TABLE"),
))  # fmt: skip
"""The pairs of operation and object type whose objects TABLE and MAP parameters name."""

BARE_IN_POSTGRES = frozenset((("CREATE", "INDEX"), *((op, of) for op in ("CREATE", "ALTER", "DROP", "COMMENT")
                                                     for of in ("TRIGGER", "RULE", "POLICY"))))  # fmt: skip
"""Statements whose derived object PostgreSQL wants without a schema: it lies where its table lies."""


def read_type(words: Words) -> str:
    """Read the object type that comes next, with the words around it; empty: none that is known comes."""
    phrase = words.take_behind(MODIFIERS, TYPES)
    if phrase:
        words.skip(_BEHIND_TYPE)
    return " ".join(phrase)


def is_mappable(operation: str, object_type: str) -> bool:
    """Can this operation on this type of object be mapped? All others have the scope OTHER."""
    return (operation, object_type) in MAPPABLE
