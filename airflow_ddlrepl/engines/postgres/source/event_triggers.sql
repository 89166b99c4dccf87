-- Event triggers: every DDL statement leaves a transactional message in the log, with the shape that each table
-- of a channel has after it, and before it, as far as its text names them. A failure in here never ends the user's
-- statement: it leaves a "gap" message instead.

-- Stands between our messages and what follows them, see ddlrepl.record.
CREATE SEQUENCE IF NOT EXISTS ddlrepl.fence;

-- Tables whose shape may depend on this object, a partitioned table before its partitions. It always starts from
-- few rows, which the planner can't know: hence no hash joins over whole catalogs.
CREATE OR REPLACE FUNCTION ddlrepl.affected(object_class oid, object_id oid) RETURNS SETOF oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH RECURSIVE
    types(oid) AS (
        SELECT object_id WHERE object_class = 'pg_type'::regclass
        UNION
        SELECT reltype FROM pg_class
        WHERE object_class = 'pg_class'::regclass AND oid = object_id AND relkind IN ('c', 'r', 'p', 'v', 'm', 'f')
        UNION
        SELECT contypid FROM pg_constraint
        WHERE object_class = 'pg_constraint'::regclass AND oid = object_id AND contypid <> 0
        UNION
        SELECT oid FROM pg_type WHERE object_class = 'pg_namespace'::regclass AND typnamespace = object_id
        UNION
        SELECT objid FROM pg_depend
        WHERE object_class = 'pg_extension'::regclass AND refclassid = object_class AND refobjid = object_id
          AND classid = 'pg_type'::regclass AND deptype = 'e'
        UNION
        SELECT made.oid FROM types
        CROSS JOIN LATERAL (
            SELECT CASE d.classid WHEN 'pg_type'::regclass THEN d.objid ELSE c.reltype END
            FROM pg_depend d
            LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind IN ('c', 'r', 'p', 'v', 'm', 'f')
            WHERE d.refclassid = 'pg_type'::regclass AND d.refobjid = types.oid
        ) made(oid)
        WHERE made.oid <> 0
    ),
    direct(oid, depth) AS (
        SELECT object_id, 0 WHERE object_class = 'pg_class'::regclass
        UNION
        SELECT indrelid, 0 FROM pg_index WHERE object_class = 'pg_class'::regclass AND indexrelid = object_id
        UNION
        SELECT conrelid, 0 FROM pg_constraint
        WHERE object_class = 'pg_constraint'::regclass AND oid = object_id AND conrelid <> 0
        UNION
        SELECT oid, 0 FROM pg_class WHERE object_class = 'pg_namespace'::regclass AND relnamespace = object_id
        UNION
        -- By a column, or the whole table: CREATE TABLE .. OF the type.
        SELECT d.objid, 0 FROM types JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid = types.oid
        WHERE d.classid = 'pg_class'::regclass
        UNION
        SELECT f.adrelid, 0 FROM pg_depend d JOIN pg_attrdef f ON f.oid = d.objid
        WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = object_class AND d.refobjid = object_id
        UNION
        SELECT i.inhrelid, direct.depth + 1 FROM direct JOIN pg_inherits i ON i.inhparent = direct.oid
    )
    SELECT c.oid FROM direct d JOIN pg_class c ON c.oid = d.oid
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
    GROUP BY c.oid ORDER BY max(d.depth), c.oid;
END
$$;

-- The exact text when the DDL ran inside a function or DO block (the frame says it); the query string when that
-- can hold only one statement; else unknown.
CREATE OR REPLACE FUNCTION ddlrepl.statement_of(context text, query text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN strpos(context, E'\n') = 0 THEN CASE WHEN rtrim(query, E'; \n\r\t') !~ ';' THEN query END
        WHEN caller LIKE 'SQL statement "%' THEN
            substr(regexp_replace(caller, '"(\n(PL/pgSQL|SQL) (function|statement) .*)?$', ''), 16)
        END
    FROM (SELECT substr(context, strpos(context, E'\n') + 1) AS caller) c
$$;

-- Passwords that stand in the same query string stay out of the log: as '***', or with the whole text where they are
-- not plain strings. No backslash here and below but in E'': the user's standard_conforming_strings may be off.
CREATE OR REPLACE FUNCTION ddlrepl.without_passwords(query text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN masked !~* E'(password|passwd|pwd)[[:space:]]*=?[[:space:]]*([$]|U&|E\'|=[[:space:]]*[^\'[:space:]])|://[^/@[:space:]]*:[^/@[:space:]]*@'
        THEN masked END
    FROM regexp_replace(query,
        E'(password|passwd|pwd|secret|token|access_key)([[:space:]]*=?[[:space:]]*)(\'([^\']|\'\')*\'|E\'([^\'\\\\]|\\\\.|\'\')*\')',
        E'\\1\\2\'***\'', 'gi') masked
$$;

-- Tables of channels that a statement may change, as far as its text names them, or their key, or the type or schema
-- that it is about: by a word of it, in lower case, too, or by something between two quotes.
CREATE OR REPLACE FUNCTION ddlrepl.named(tag text, said text) RETURNS SETOF oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names name[] := ARRAY(
        SELECT unnest(ARRAY[w, lower(w)]) FROM regexp_split_to_table(said, E'[\\x01-#%-/:-@[-^`{-\\x7f]+') w
        UNION SELECT replace(q, E'\x01', '"') FROM regexp_split_to_table(replace(said, '""', E'\x01'), '"') q);
BEGIN
    RETURN QUERY
    SELECT DISTINCT a.id
    FROM (
        SELECT 'pg_class'::regclass::oid, c.oid FROM pg_class c
        WHERE c.relname = ANY (names) AND c.relkind IN ('r', 'p', 'i', 'I')
        UNION ALL
        SELECT 'pg_type'::regclass, t.oid FROM pg_type t WHERE t.typname = ANY (names) AND tag ~ ' (TYPE|DOMAIN)$'
        UNION ALL
        SELECT 'pg_namespace'::regclass, n.oid FROM pg_namespace n WHERE n.nspname = ANY (names) AND tag ~ ' SCHEMA$'
    ) object(class, id)
    CROSS JOIN LATERAL ddlrepl.affected(object.class, object.id) a(id)
    WHERE object.id >= 16384
      AND EXISTS (SELECT FROM ddlrepl.member m WHERE m.table_id = a.id AND m.state <> 'bystander');
END
$$;

-- Brings every touched table of a channel to its right state and writes the message.
CREATE OR REPLACE FUNCTION ddlrepl.record(
    tag text, context text, query text, settings jsonb, touched oid[], dropped jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    ch ddlrepl.channel;
    id oid;
    state_now text;
    seen oid[] := '{}';
    filled oid[] := '{}';
    shared oid[] := '{}';        -- of these, those that others may be writing to
    belonging oid[] := '{}';
    rewritten oid[] := string_to_array(nullif(current_setting('ddlrepl.rewritten', true), ''), ' ');
    before jsonb := nullif(current_setting('ddlrepl.before', true), '');
    gone oid[] := ARRAY(SELECT (d ->> 0)::oid FROM jsonb_array_elements(dropped) d);
BEGIN
    PERFORM set_config('ddlrepl.rewritten', '', true);
    PERFORM set_config('ddlrepl.before', '', true);
    touched := touched || ARRAY(SELECT m.table_id FROM ddlrepl.member m WHERE m.parent = ANY (touched));
    FOREACH id IN ARRAY touched LOOP
        CONTINUE WHEN id = ANY (seen);
        seen := seen || id;
        FOR ch IN SELECT * FROM ddlrepl.channel ORDER BY name LOOP
            IF ddlrepl.belongs(ch, id) THEN
                state_now := ddlrepl.tend(ch.name, id);
                -- What another transaction keeps out for now is published later: until then the log lacks its rows.
                IF state_now = 'filled' OR state_now = 'left out' AND EXISTS (
                        SELECT FROM ddlrepl.member m
                        WHERE m.channel = ch.name AND m.table_id = id AND ddlrepl.cause_of(m) = 'lock') THEN
                    filled := filled || id;
                    IF NOT ddlrepl.is_held(id) THEN
                        shared := shared || id;
                    END IF;
                END IF;
                IF id <> ALL (belonging) THEN
                    belonging := belonging || id;
                END IF;
            END IF;
        END LOOP;
    END LOOP;
    PERFORM pg_logical_emit_message(true, 'ddlrepl', ddlrepl.signed(jsonb_build_object(
        'v', 1, 'kind', 'ddl', 'tag', tag,
        'statement', ddlrepl.without_passwords(ddlrepl.statement_of(context, query)),
        'query', ddlrepl.without_passwords(query),
        'settings', settings
            || CASE WHEN shared = '{}' THEN '{}' ELSE jsonb_build_object('shared', shared::int8[]) END
            || CASE WHEN before IS NULL THEN '{}' ELSE jsonb_build_object('snapshot_before', before -> 'snapshot') END
            -- One of many statements of the query string itself: capture finds out which one (ddl/sql/query_string.py).
            || CASE WHEN strpos(context, E'\n') > 0 OR ddlrepl.statement_of(context, query) IS NOT NULL THEN '{}'
                ELSE jsonb_build_object('query_started', extract(epoch FROM statement_timestamp())) END,
        'before', (SELECT coalesce(jsonb_agg(b), '[]') FROM jsonb_array_elements(before -> 'tables') b
                   WHERE (b ->> 'id')::oid = ANY (belonging || gone)),
        'tables', (SELECT coalesce(jsonb_agg(ddlrepl.table_shape(b.id) ORDER BY b.place), '[]')
                   FROM unnest(belonging) WITH ORDINALITY b(id, place)),
        'dropped', dropped,
        'rewritten', (SELECT coalesce(jsonb_agg(r::int8), '[]') FROM unnest(rewritten) r WHERE r = ANY (belonging)),
        'filled', (SELECT coalesce(jsonb_agg(DISTINCT f::int8), '[]') FROM unnest(filled) f))));
    -- The server sorts a message by the end of its log record, a row by the start of its own. Across subtransactions
    -- (an EXCEPTION block, a savepoint) the row right behind the message would tie with it and might come first: so
    -- one more record, which nobody decodes, goes between them.
    PERFORM setval('ddlrepl.fence', 1);
END
$$;

-- Is this DDL none of anybody's business: our own, without effect on tables, or with secrets in its text?
CREATE OR REPLACE FUNCTION ddlrepl.is_ignored(tag text, context text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT regexp_count(context, 'PL/pgSQL function ("?ddlrepl"?[.])?"?(on_ddl_command_(start|end)|on_sql_drop|tend|name_sessions|put_back|let_be_unlogged|bring_back|sync_capture_run)"?[(]') > 1
        OR tag ~ '(SUBSCRIPTION|PUBLICATION|USER MAPPING|SERVER|FOREIGN DATA WRAPPER)$'
        OR tag IN ('REFRESH MATERIALIZED VIEW', 'REINDEX')
        OR NOT EXISTS (SELECT FROM ddlrepl.channel)
$$;

CREATE OR REPLACE FUNCTION ddlrepl.record_commands(tag text, context text, query text, settings jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    command record;
    touched oid[] := '{}';
    is_relevant boolean := false;
BEGIN
    IF ddlrepl.is_ignored(tag, context) THEN
        RETURN;
    END IF;
    IF current_setting('ddlrepl.taken_out', true) <> '' THEN
        PERFORM ddlrepl.bring_back();
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
        PERFORM ddlrepl.record(tag, context, query, settings, touched, '[]'::jsonb);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.record_drops(tag text, context text, query text, settings jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    object record;
    touched oid[] := '{}';
    dropped jsonb := '[]';
    is_relevant boolean := false;
BEGIN
    IF ddlrepl.is_ignored(tag, context) THEN
        RETURN;
    END IF;
    FOR object IN SELECT * FROM pg_event_trigger_dropped_objects() LOOP
        CONTINUE WHEN object.is_temporary OR object.schema_name = 'ddlrepl';
        is_relevant := is_relevant OR object.original;
        IF object.classid = 'pg_class'::regclass AND object.objsubid = 0 THEN
            touched := touched || ARRAY(SELECT table_id FROM ddlrepl.member WHERE key_index = object.objid);
            DELETE FROM ddlrepl.member WHERE table_id = object.objid AND state = 'bystander';
            IF EXISTS (SELECT FROM ddlrepl.member WHERE table_id = object.objid) THEN
                DELETE FROM ddlrepl.member WHERE table_id = object.objid;
                dropped := dropped || jsonb_build_array(jsonb_build_array(
                    object.objid::int8, jsonb_build_array(object.schema_name, object.object_name)));
            END IF;
        ELSIF object.object_type = 'default value' THEN
            touched := touched || to_regclass(format('%I.%I', object.address_names[1], object.address_names[2]))::oid;
        ELSE
            touched := touched || ARRAY(SELECT ddlrepl.affected(object.classid, object.objid));
        END IF;
    END LOOP;
    -- Everything but DROP ends in ddl_command_end, too, which tells the shapes.
    IF dropped <> '[]' OR (is_relevant AND tag LIKE 'DROP %') THEN
        PERFORM ddlrepl.record(tag, context, query, settings, touched, dropped);
    END IF;
END
$$;

-- What the tables are like before a statement shows what was changed where no event trigger fired. Kept for the end of
-- the statement, which tells it. Nothing is told of before where we can't look (a lock, mostly: no gap, for the end of the
-- statement looks again), or where the statement is one of many in a query string that names many tables: looking at them
-- all each time would take too long.
CREATE OR REPLACE FUNCTION ddlrepl.on_ddl_command_start() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' SET jit = off AS $$
DECLARE
    context text;
    statement text;
    ids oid[];
BEGIN
    GET DIAGNOSTICS context = PG_CONTEXT;
    IF ddlrepl.is_ignored(tg_tag, context) THEN
        RETURN;
    END IF;
    statement := ddlrepl.statement_of(context, current_query());
    IF tg_tag = 'ALTER TABLE' AND coalesce(statement, current_query())
            ~* '(^|[^[:alnum:]_$"])set([[:space:]]|/[*].*[*]/|--[^[:cntrl:]]*[[:cntrl:]])+unlogged($|[^[:alnum:]_$"])' THEN
        PERFORM ddlrepl.let_be_unlogged(coalesce(statement, current_query()));
    END IF;
    PERFORM set_config('ddlrepl.before', '', true);
    IF tg_tag ~ '^(ALTER|DROP) ' OR tg_tag = 'CREATE INDEX' THEN
        ids := ARRAY(SELECT ddlrepl.named(tg_tag, coalesce(statement, current_query())));
        IF cardinality(ids) > 0 AND (statement IS NOT NULL OR cardinality(ids) <= 20) THEN
            PERFORM set_config('ddlrepl.before', jsonb_build_object(
                'snapshot', pg_current_snapshot(), 'tables', jsonb_agg(ddlrepl.table_shape(t.id)))::text, true)
            FROM unnest(ids) t(id);
        END IF;
    END IF;
EXCEPTION WHEN OTHERS THEN
    NULL;
END
$$;

-- table_rewrite fires in the middle of its statement; the end of the statement tells which tables it was.
-- 1 is SET LOGGED/UNLOGGED, 8 another access method: these alone leave the values as they are.
CREATE OR REPLACE FUNCTION ddlrepl.on_table_rewrite() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_event_trigger_table_rewrite_reason() & ~9 <> 0 THEN
        PERFORM set_config('ddlrepl.rewritten', ltrim(
            coalesce(current_setting('ddlrepl.rewritten', true), '') || ' ' || pg_event_trigger_table_rewrite_oid()), true);
    END IF;
EXCEPTION WHEN OTHERS THEN
    PERFORM pg_logical_emit_message(true, 'ddlrepl', convert_to(
        jsonb_build_object('v', 1, 'kind', 'gap', 'statement', SQLERRM)::text, 'UTF8'));
END
$$;

-- These two have no SET clause, to see the user's own settings; so every name in them is qualified and they use no
-- operator. What they call has its search_path pinned.
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
        'snapshot', pg_catalog.pg_current_snapshot(),
        'tag', COALESCE(pg_catalog.current_setting('ddlrepl.tag', true), '')));
EXCEPTION WHEN OTHERS THEN
    PERFORM pg_catalog.pg_logical_emit_message(true, 'ddlrepl', pg_catalog.convert_to(CAST(
        pg_catalog.jsonb_build_object('v', 1, 'kind', 'gap', 'statement', SQLERRM) AS pg_catalog.text), 'UTF8'));
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
        'snapshot', pg_catalog.pg_current_snapshot(),
        'tag', COALESCE(pg_catalog.current_setting('ddlrepl.tag', true), '')));
EXCEPTION WHEN OTHERS THEN
    PERFORM pg_catalog.pg_logical_emit_message(true, 'ddlrepl', pg_catalog.convert_to(CAST(
        pg_catalog.jsonb_build_object('v', 1, 'kind', 'gap', 'statement', SQLERRM) AS pg_catalog.text), 'UTF8'));
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ddlrepl FROM PUBLIC;

DROP EVENT TRIGGER IF EXISTS ddlrepl_ddl_command_start;
DROP EVENT TRIGGER IF EXISTS ddlrepl_ddl_command_end;
DROP EVENT TRIGGER IF EXISTS ddlrepl_sql_drop;
DROP EVENT TRIGGER IF EXISTS ddlrepl_table_rewrite;
CREATE EVENT TRIGGER ddlrepl_ddl_command_start ON ddl_command_start EXECUTE FUNCTION ddlrepl.on_ddl_command_start();
CREATE EVENT TRIGGER ddlrepl_ddl_command_end ON ddl_command_end EXECUTE FUNCTION ddlrepl.on_ddl_command_end();
CREATE EVENT TRIGGER ddlrepl_sql_drop ON sql_drop EXECUTE FUNCTION ddlrepl.on_sql_drop();
CREATE EVENT TRIGGER ddlrepl_table_rewrite ON table_rewrite EXECUTE FUNCTION ddlrepl.on_table_rewrite();
-- ALWAYS: also in sessions with session_replication_role = replica.
ALTER EVENT TRIGGER ddlrepl_ddl_command_start ENABLE ALWAYS;
ALTER EVENT TRIGGER ddlrepl_ddl_command_end ENABLE ALWAYS;
ALTER EVENT TRIGGER ddlrepl_sql_drop ENABLE ALWAYS;
ALTER EVENT TRIGGER ddlrepl_table_rewrite ENABLE ALWAYS;
