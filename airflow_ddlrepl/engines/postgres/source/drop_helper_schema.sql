-- Removes all that activation ever put into the database beside publications and slots. The schema itself stays
-- where the database is a target, too, and what synchronous captures have in it.
DROP EVENT TRIGGER IF EXISTS ddlrepl_caller;
DROP EVENT TRIGGER IF EXISTS ddlrepl_ddl_command_start;
DROP EVENT TRIGGER IF EXISTS ddlrepl_ddl_command_end;
DROP EVENT TRIGGER IF EXISTS ddlrepl_sql_drop;
DROP EVENT TRIGGER IF EXISTS ddlrepl_table_rewrite;
DO $$
DECLARE
    routine regprocedure;
    renamed record;
BEGIN
    -- Those that name sessions have gone with their channels, but for those that somebody has given another name.
    FOR renamed IN SELECT t.tgname, n.nspname, c.relname FROM pg_catalog.pg_trigger t
                   JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                   WHERE t.tgfoid = to_regprocedure('ddlrepl.name_session()') AND t.tgparentid = 0 LOOP
        EXECUTE format('DROP TRIGGER %I ON %I.%I', renamed.tgname, renamed.nspname, renamed.relname);
    END LOOP;
    DROP TABLE IF EXISTS ddlrepl.message;
    FOR routine IN SELECT oid FROM pg_catalog.pg_proc WHERE pronamespace = to_regnamespace('ddlrepl')
                   AND proname NOT LIKE 'sync\_capture\_%' LOOP
        EXECUTE format('DROP ROUTINE %s', routine);
    END LOOP;
    DROP TABLE IF EXISTS ddlrepl.mark, ddlrepl.member, ddlrepl.channel, ddlrepl.signature;
    DROP SEQUENCE IF EXISTS ddlrepl.fence, ddlrepl.state_number, ddlrepl.session_number;
    IF EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = to_regnamespace('ddlrepl')) THEN
        COMMENT ON SCHEMA ddlrepl IS NULL;
    ELSE
        DROP SCHEMA IF EXISTS ddlrepl;
    END IF;
END
$$;
