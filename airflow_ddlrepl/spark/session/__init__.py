"""Start Spark sessions: where they run, with which options and files."""
