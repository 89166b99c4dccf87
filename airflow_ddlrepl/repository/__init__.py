"""What the product remembers between runs: SQLite for one person, PostgreSQL for a team."""
