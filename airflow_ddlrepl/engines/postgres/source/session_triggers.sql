-- The triggers that write an ignored session's application name and role into the log, see session_triggers.py.

-- Writes what the log lacks of an ignored session, once in each transaction of it that changes rows. Everybody may choose
-- an application name; the role is signed, so that nobody else has changes ignored by it.
CREATE OR REPLACE FUNCTION ddlrepl.name_session() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    written text := coalesce(current_setting('ddlrepl.named', true), '');
    is_named boolean := false;
BEGIN
    IF written <> '' THEN
        BEGIN
            is_named := written = ddlrepl.state_mark(pg_current_xact_id()::text || ' ' || currval('ddlrepl.session_number'));
        EXCEPTION WHEN object_not_in_prerequisite_state THEN   -- DISCARD SEQUENCES
            NULL;
        END;
    END IF;
    IF NOT is_named THEN
        PERFORM set_config('ddlrepl.named',
            ddlrepl.state_mark(pg_current_xact_id()::text || ' ' || nextval('ddlrepl.session_number')), true);
        PERFORM pg_logical_emit_message(true, 'ddlrepl.session', current_setting('application_name'));
        PERFORM pg_logical_emit_message(true, 'ddlrepl.role', ddlrepl.signed(jsonb_build_object(
            'v', 1, 'kind', 'role', 'role', session_user)));
    END IF;
    RETURN NULL;
END
$$;

-- Gives a table the trigger of a channel that ignores sessions by name or role, or takes it away from a table or channel
-- that has none of that any more. The condition is the file's, as SQL: see session_triggers.py.
CREATE OR REPLACE FUNCTION ddlrepl.name_sessions(channel_name text, id oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    called name := 'ddlrepl_session_' || channel_name;
    there pg_trigger;
    spelled text;
    condition text := (
        SELECT c.scope ->> 'sessions' FROM ddlrepl.channel c JOIN ddlrepl.member m ON m.channel = c.name
        WHERE c.name = channel_name AND m.table_id = id AND m.state IN ('published', 'tracked'));
BEGIN
    SELECT * INTO there FROM pg_trigger t WHERE t.tgrelid = id AND t.tgname = called;
    SELECT format('%I.%I', n.nspname, c.relname) INTO spelled
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = id;
    IF condition IS NULL THEN
        IF there.oid IS NOT NULL THEN
            PERFORM ddlrepl.run_own(format('DROP TRIGGER %I ON %s', called, spelled));
        END IF;
    ELSIF there.oid IS NULL OR there.tgenabled <> 'A' OR there.tgtype <> 62 OR there.tgattr <> ''
        OR there.tgfoid <> 'ddlrepl.name_session()'::regprocedure
        OR there.tgargs <> convert_to(md5(condition), 'SQL_ASCII') || decode('00', 'hex') THEN
        PERFORM ddlrepl.run_own(format('CREATE OR REPLACE TRIGGER %I BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s'
            ' FOR EACH STATEMENT WHEN (%s) EXECUTE FUNCTION ddlrepl.name_session(%L)',
            called, spelled, condition, md5(condition)));
        PERFORM ddlrepl.run_own(format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', spelled, called));
    END IF;
END
$$;

-- Makes the trigger again where somebody has changed it, or may have.
CREATE OR REPLACE FUNCTION ddlrepl.name_sessions_again(channel_name text, id oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = id AND t.tgname = 'ddlrepl_session_' || channel_name) THEN
        PERFORM ddlrepl.run_own(format('DROP TRIGGER %I ON %I.%I', 'ddlrepl_session_' || channel_name, n.nspname, c.relname))
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = id;
    END IF;
    PERFORM ddlrepl.name_sessions(channel_name, id);
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ddlrepl FROM PUBLIC;
