-- Event triggers: every DDL statement leaves a transactional message in the log, with the shape that each table
-- of a channel has after it, and before it, as far as its text names them. A failure in here never ends the user's
-- statement: it leaves a "gap" message instead.

-- Stands between our messages and what follows them, see ddlrepl.record.
CREATE SEQUENCE IF NOT EXISTS ddlrepl.fence;

-- Brings every touched table of a channel to its right state and writes the message.
-- state: what the statement's beginning and table_rewrite have left, see ddlrepl.states. Without it somebody has written
-- over it: then nothing is known of the statement, and whatever can be rewritten was.
DROP FUNCTION IF EXISTS ddlrepl.record(text, text, text, jsonb, oid[], jsonb);
CREATE OR REPLACE FUNCTION ddlrepl.record(
    tag text, context text, query text, settings jsonb, touched oid[], dropped jsonb, state jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    ch ddlrepl.channel;
    id oid;
    state_now text;
    seen oid[] := '{}';
    filled oid[] := '{}';
    shared oid[] := '{}';        -- of these, those that others may be writing to
    belonging oid[] := '{}';
    shape jsonb;                 -- of the table; NULL: not known
    shapes jsonb[] := '{}';      -- of those that belong to a channel
    tables jsonb := '[]';        -- these, as the message has them
    shapes_before jsonb := '[]';
    rewritten jsonb := '[]';
    is_lost boolean := state IS NULL OR state ? 'lost';
    statement text := CASE WHEN NOT is_lost THEN ddlrepl.statement_of(context, query) END;
    before jsonb := CASE WHEN (state ->> 'began')::timestamptz = transaction_timestamp() THEN state -> 'before' END;
    gone oid[] := '{}';
BEGIN
    IF NOT EXISTS (SELECT FROM ddlrepl.channel) THEN
        RETURN;
    END IF;
    IF touched <> '{}' THEN
        touched := touched || ARRAY(SELECT m.table_id FROM ddlrepl.member m WHERE m.parent = ANY (touched));
    END IF;
    FOREACH id IN ARRAY touched LOOP
        CONTINUE WHEN id = ANY (seen);
        seen := seen || id;
        shape := NULL;
        FOR ch IN SELECT * FROM ddlrepl.channel ORDER BY name LOOP
            IF ddlrepl.belongs(ch, id) THEN
                SELECT t.state, t.shape INTO state_now, shape FROM ddlrepl.tended(ch, id, shape) t;
                -- What another transaction keeps out for now is published later: until then the log lacks its rows.
                IF state_now = 'filled' OR state_now = 'left out' AND EXISTS (
                        SELECT FROM ddlrepl.member m
                        WHERE m.channel = ch.name AND m.table_id = id AND ddlrepl.cause_of(m) = 'lock') THEN
                    IF id <> ALL (filled) THEN
                        filled := filled || id;
                    END IF;
                    IF NOT ddlrepl.is_held(id) THEN
                        shared := shared || id;
                    END IF;
                END IF;
                IF id <> ALL (belonging) THEN
                    belonging := belonging || id;
                    IF is_lost AND tag ~ '^ALTER (TABLE|TYPE|DOMAIN)$' OR state -> 'rewritten' @> to_jsonb(id::int8) THEN
                        rewritten := rewritten || to_jsonb(id::int8);
                    END IF;
                END IF;
                shapes[cardinality(belonging)] := shape;
            END IF;
        END LOOP;
    END LOOP;
    IF dropped <> '[]' THEN
        gone := ARRAY(SELECT (d ->> 0)::oid FROM jsonb_array_elements(dropped) d);
    END IF;
    IF before IS NOT NULL THEN
        shapes_before := (SELECT coalesce(jsonb_agg(b), '[]') FROM jsonb_array_elements(before -> 'tables') b
                          WHERE (b ->> 'id')::oid = ANY (belonging || gone) AND ddlrepl.is_utf8(b::text));
    END IF;
    FOR place IN 1 .. cardinality(belonging) LOOP
        shape := coalesce(shapes[place], ddlrepl.table_shape(belonging[place]));
        IF shape IS NOT NULL AND ddlrepl.is_utf8(shape::text) THEN
            tables := tables || shape;
        END IF;
    END LOOP;
    PERFORM pg_logical_emit_message(true, 'ddlrepl', ddlrepl.signed(ddlrepl.as_utf8(jsonb_build_object(
        'v', 1, 'kind', 'ddl', 'tag', tag,
        'statement', ddlrepl.without_passwords(statement),
        'query', ddlrepl.without_passwords(query),
        'settings', settings || coalesce(state -> 'settings', '{}') || jsonb_build_object('tag', ddlrepl.session_tag())
            || CASE WHEN is_lost THEN '{"state": "lost"}'::jsonb ELSE '{}' END
            || CASE WHEN shared = '{}' THEN '{}' ELSE jsonb_build_object('shared', shared::int8[]) END
            || CASE WHEN before IS NULL THEN '{}' ELSE jsonb_build_object('snapshot_before', before -> 'snapshot') END
            -- One of many statements of the query string itself: capture finds out which one (ddl/sql/query_string.py).
            || CASE WHEN is_lost OR strpos(context, E'\n') > 0 OR statement IS NOT NULL THEN '{}'
                ELSE jsonb_build_object('query_started', extract(epoch FROM statement_timestamp())) END,
        'before', shapes_before,
        'tables', tables,
        'dropped', dropped,
        'rewritten', rewritten,
        'filled', to_jsonb(filled::int8[])))));
    -- The server sorts a message by the end of its log record, a row by the start of its own. Across subtransactions
    -- (an EXCEPTION block, a savepoint) the row right behind the message would tie with it and might come first: so
    -- one more record, which nobody decodes, goes between them.
    PERFORM setval('ddlrepl.fence', 1);
END
$$;

-- Is this DDL none of anybody's business: without effect on tables, or with secrets in its text?
DROP FUNCTION IF EXISTS ddlrepl.is_ignored(text, text);
CREATE OR REPLACE FUNCTION ddlrepl.is_ignored(tag text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN tag LIKE '%SUBSCRIPTION' OR tag LIKE '%PUBLICATION' OR tag LIKE '%USER MAPPING' OR tag LIKE '%SERVER'
        OR tag LIKE '%FOREIGN DATA WRAPPER' OR tag IN ('REFRESH MATERIALIZED VIEW', 'REINDEX');
END
$$;

-- The states of the statements that run now; NULL where the innermost one is ours, or none of anybody's business.
CREATE OR REPLACE FUNCTION ddlrepl.states_to_record(tag text) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    states jsonb;
BEGIN
    IF NOT ddlrepl.is_ignored(tag) THEN
        states := ddlrepl.states();
    END IF;
    RETURN CASE WHEN NOT ddlrepl.is_own(states) THEN states END;
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.record_commands(tag text, context text, query text, settings jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    command record;
    touched oid[] := '{}';
    is_relevant boolean := false;
    states jsonb;
    at int;
BEGIN
    IF tag LIKE '% PUBLICATION' THEN
        PERFORM ddlrepl.record_publication(tag, context, query, settings, true);
    END IF;
    states := ddlrepl.states_to_record(tag);
    IF states IS NULL THEN
        RETURN;
    END IF;
    at := ddlrepl.state_at(states, ddlrepl.place_of(context));
    PERFORM ddlrepl.write_states(ddlrepl.states_before(states, coalesce(at, 0)));
    IF states -> at ? 'taken_out' THEN
        PERFORM ddlrepl.bring_back(states -> at -> 'taken_out');
    END IF;
    FOR command IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
        CONTINUE WHEN command.in_extension OR command.schema_name IN ('pg_temp', 'ddlrepl');
        CONTINUE WHEN command.object_type = 'schema' AND command.object_identity = 'ddlrepl';
        is_relevant := true;
        IF tag NOT IN ('COMMENT', 'GRANT', 'REVOKE', 'SECURITY LABEL') THEN
            touched := touched || ARRAY(SELECT ddlrepl.affected(command.classid, command.objid));
        END IF;
    END LOOP;
    IF is_relevant THEN
        PERFORM ddlrepl.record(tag, context, query, settings, touched, '[]'::jsonb, states -> at);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.record_drops(tag text, context text, query text, settings jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    object record;
    touched oid[] := '{}';
    dropped jsonb := '[]';
    is_relevant boolean := false;
    states jsonb;
    at int;
BEGIN
    IF tag LIKE '% PUBLICATION' THEN
        PERFORM ddlrepl.record_publication(tag, context, query, settings, false);
    END IF;
    states := ddlrepl.states_to_record(tag);
    IF states IS NULL THEN
        RETURN;
    END IF;
    at := ddlrepl.state_at(states, ddlrepl.place_of(context));
    FOR object IN SELECT * FROM pg_event_trigger_dropped_objects() LOOP
        CONTINUE WHEN object.is_temporary OR object.schema_name = 'ddlrepl';
        is_relevant := is_relevant OR object.original;
        IF object.classid = 'pg_class'::regclass AND object.objsubid = 0 THEN
            touched := touched || ARRAY(SELECT table_id FROM ddlrepl.member WHERE key_index = object.objid);
            IF tag = 'DROP INDEX' THEN
                touched := touched || ddlrepl.table_of_dropped(states -> at, object.objid);
            END IF;
            DELETE FROM ddlrepl.member WHERE table_id = object.objid AND state = 'bystander';
            IF EXISTS (SELECT FROM ddlrepl.member WHERE table_id = object.objid) THEN
                DELETE FROM ddlrepl.member WHERE table_id = object.objid;
                dropped := dropped || jsonb_build_array(jsonb_build_array(
                    object.objid::int8, jsonb_build_array(object.schema_name, object.object_name)));
            END IF;
        ELSIF object.object_type = 'default value' THEN
            touched := touched || to_regclass(format('%I.%I', object.address_names[1], object.address_names[2]))::oid;
        ELSIF object.classid = 'pg_class'::regclass THEN   -- a column; nothing depends on what is gone
            touched := touched || ARRAY(SELECT ddlrepl.affected(object.classid, object.objid));
        END IF;
    END LOOP;
    -- Everything but DROP ends in ddl_command_end, too, which tells the shapes.
    IF dropped <> '[]' OR (is_relevant AND tag LIKE 'DROP %') THEN
        IF at IS NOT NULL THEN   -- told once
            PERFORM ddlrepl.write_states(ddlrepl.states_before(states, at) || ((states -> at) - 'before'));
        END IF;
        PERFORM ddlrepl.record(tag, context, query, settings, touched, dropped, states -> at);
    END IF;
END
$$;

-- Who runs the statement, and where names without a schema are looked for: only a function that runs with the user's own
-- rights sees that. The trigger behind it, which comes next by its name, reads the setting before any user's code runs.
CREATE OR REPLACE FUNCTION ddlrepl.on_caller() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_catalog.set_config('ddlrepl.runs_as', CAST(pg_catalog.jsonb_build_object(
        'role', current_user, 'schemas', pg_catalog.current_schemas(true)) AS pg_catalog.text), true);
END
$$;

-- These have no SET clause, to see the user's own settings; so every name in them is qualified and they use no
-- operator. What they call has its search_path pinned. How the statement is read is up to the settings at its beginning:
-- code of users that it runs may have changed them at its end.
CREATE OR REPLACE FUNCTION ddlrepl.on_ddl_command_start() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    context pg_catalog.text;
BEGIN
    GET DIAGNOSTICS context = PG_CONTEXT;
    PERFORM ddlrepl.command_starts(tg_tag, context, pg_catalog.current_query(), pg_catalog.jsonb_build_object(
        'search_path', pg_catalog.current_setting('search_path'),
        'timezone', pg_catalog.current_setting('TimeZone')), pg_catalog.current_setting('ddlrepl.runs_as', true));
EXCEPTION WHEN OTHERS THEN
    NULL;   -- the end of the statement finds no state of it
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.on_table_rewrite() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    context pg_catalog.text;
BEGIN
    GET DIAGNOSTICS context = PG_CONTEXT;
    PERFORM ddlrepl.rewritten(pg_catalog.pg_event_trigger_table_rewrite_oid(),
        pg_catalog.pg_event_trigger_table_rewrite_reason(), context);
EXCEPTION WHEN OTHERS THEN
    PERFORM pg_catalog.pg_logical_emit_message(true, 'ddlrepl', pg_catalog.convert_to(CAST(
        pg_catalog.jsonb_build_object('v', 1, 'kind', 'gap', 'statement', ddlrepl.as_utf8(SQLERRM)) AS pg_catalog.text), 'UTF8'));
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.on_ddl_command_end() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    context pg_catalog.text;
BEGIN
    GET DIAGNOSTICS context = PG_CONTEXT;
    PERFORM ddlrepl.record_commands(tg_tag, context, pg_catalog.current_query(), pg_catalog.jsonb_build_object(
        'search_path', pg_catalog.current_setting('search_path'),
        'timezone', pg_catalog.current_setting('TimeZone'),
        'application_name', pg_catalog.current_setting('application_name'),
        'role', session_user,
        'snapshot', pg_catalog.pg_current_snapshot()));
EXCEPTION WHEN OTHERS THEN
    PERFORM pg_catalog.pg_logical_emit_message(true, 'ddlrepl', pg_catalog.convert_to(CAST(
        pg_catalog.jsonb_build_object('v', 1, 'kind', 'gap', 'statement', ddlrepl.as_utf8(SQLERRM)) AS pg_catalog.text), 'UTF8'));
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.on_sql_drop() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    context pg_catalog.text;
BEGIN
    GET DIAGNOSTICS context = PG_CONTEXT;
    PERFORM ddlrepl.record_drops(tg_tag, context, pg_catalog.current_query(), pg_catalog.jsonb_build_object(
        'search_path', pg_catalog.current_setting('search_path'),
        'timezone', pg_catalog.current_setting('TimeZone'),
        'application_name', pg_catalog.current_setting('application_name'),
        'role', session_user,
        'snapshot', pg_catalog.pg_current_snapshot()));
EXCEPTION WHEN OTHERS THEN
    PERFORM pg_catalog.pg_logical_emit_message(true, 'ddlrepl', pg_catalog.convert_to(CAST(
        pg_catalog.jsonb_build_object('v', 1, 'kind', 'gap', 'statement', ddlrepl.as_utf8(SQLERRM)) AS pg_catalog.text), 'UTF8'));
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ddlrepl FROM PUBLIC;
