"""This package works in a target database: its transactions, its state, its outbox, its rewind area."""
