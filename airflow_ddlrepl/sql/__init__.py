"""SQL texts in their dialects: one tokenizer, and what a DDL statement is about: operation, object type and names."""
