"""A target: its transactions, its state, its outbox, its rewind area."""
