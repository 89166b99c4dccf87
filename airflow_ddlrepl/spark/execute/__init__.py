"""Run tasks on Spark and follow their progress."""
