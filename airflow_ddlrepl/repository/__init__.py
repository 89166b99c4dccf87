"""The repository stores what the product remembers between runs: in SQLite for one person, in PostgreSQL for a team."""
