"""Load: tables are filled beside the old ones and take their places."""
