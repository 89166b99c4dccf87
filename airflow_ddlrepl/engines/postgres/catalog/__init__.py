"""The catalog: tables, types, dependent objects and facts of a server."""
