"""Row conditions: expressions and their parser."""
