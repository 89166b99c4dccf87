-- Removes all that activation ever put into the database beside publications and slots.
DROP EVENT TRIGGER IF EXISTS ddlrepl_ddl_command_end;
DROP EVENT TRIGGER IF EXISTS ddlrepl_sql_drop;
DROP EVENT TRIGGER IF EXISTS ddlrepl_table_rewrite;
DROP SCHEMA IF EXISTS ddlrepl CASCADE;
