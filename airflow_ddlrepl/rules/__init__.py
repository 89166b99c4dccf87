"""Which changes of the log a client takes: `decide` answers it for every client, table and kind of change."""
