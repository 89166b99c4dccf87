-- Whoever may use the schema may call these: readers are not known when the schema is made.
GRANT EXECUTE ON FUNCTION ddlrepl.verified(bytea[], text[]), ddlrepl.hold_for_queries(oid[]) TO PUBLIC;
GRANT EXECUTE ON FUNCTION ddlrepl.put_mark(text, bigint, text, text), ddlrepl.marked(text) TO PUBLIC;
