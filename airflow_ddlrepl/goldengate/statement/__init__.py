"""What a DDL statement is about, read from its text: comments, operation, object type and names."""
