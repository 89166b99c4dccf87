"""Tasks that Spark runs."""
