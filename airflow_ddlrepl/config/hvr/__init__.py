"""HVR's vocabulary: its DDL table, its databases, its action text."""
