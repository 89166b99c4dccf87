"""This package decodes PostgreSQL's pgoutput stream (protocol version 1) into Arrow, vectorised."""
