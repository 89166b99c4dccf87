-- The event triggers themselves. They come last: they are not to see the statements that install them.
DROP EVENT TRIGGER IF EXISTS ddlrepl_caller;
DROP EVENT TRIGGER IF EXISTS ddlrepl_ddl_command_start;
DROP EVENT TRIGGER IF EXISTS ddlrepl_ddl_command_end;
DROP EVENT TRIGGER IF EXISTS ddlrepl_sql_drop;
DROP EVENT TRIGGER IF EXISTS ddlrepl_table_rewrite;
CREATE EVENT TRIGGER ddlrepl_caller ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION ddlrepl.on_caller();
CREATE EVENT TRIGGER ddlrepl_ddl_command_start ON ddl_command_start EXECUTE FUNCTION ddlrepl.on_ddl_command_start();
CREATE EVENT TRIGGER ddlrepl_ddl_command_end ON ddl_command_end EXECUTE FUNCTION ddlrepl.on_ddl_command_end();
CREATE EVENT TRIGGER ddlrepl_sql_drop ON sql_drop EXECUTE FUNCTION ddlrepl.on_sql_drop();
CREATE EVENT TRIGGER ddlrepl_table_rewrite ON table_rewrite EXECUTE FUNCTION ddlrepl.on_table_rewrite();
-- ALWAYS: also in sessions with session_replication_role = replica.
ALTER EVENT TRIGGER ddlrepl_caller ENABLE ALWAYS;
ALTER EVENT TRIGGER ddlrepl_ddl_command_start ENABLE ALWAYS;
ALTER EVENT TRIGGER ddlrepl_ddl_command_end ENABLE ALWAYS;
ALTER EVENT TRIGGER ddlrepl_sql_drop ENABLE ALWAYS;
ALTER EVENT TRIGGER ddlrepl_table_rewrite ENABLE ALWAYS;
