-- What triggers capture: one row for each row LCR or message, written in the transaction that makes the change. A row
-- is read when its transaction has ended, and deleted once it is in a segment of the feed.
CREATE SCHEMA IF NOT EXISTS ddlrepl;
REVOKE ALL ON SCHEMA ddlrepl FROM PUBLIC;

CREATE TABLE IF NOT EXISTS ddlrepl.captured_lcrs (
    id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    channel text NOT NULL,
    client text NOT NULL,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    kind text NOT NULL DEFAULT 'row' CHECK (kind IN (
        'row',                   -- a row LCR
        'message',               -- a user message, or a persistent LCR of a user: payload
        'truncate')),            -- a note that a TRUNCATE of the table was not captured
    table_id oid,
    schema_name text,
    table_name text,
    command text CHECK (command IN ('INSERT', 'UPDATE', 'DELETE')),
    shape_id bigint,             -- the table as it was: captured_shapes
    renamed jsonb,               -- by column that a transformation has made: the column that it was, or its type's oid
    old_values jsonb,            -- by column: the value as text, as the server writes it; NULL of the JSON is NULL
    new_values jsonb,
    payload jsonb,
    tag text,                    -- of the session: its setting ddlrepl.tag, or that it has a replication origin
    captured timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS captured_lcrs_by_client ON ddlrepl.captured_lcrs (channel, client, id);

-- The shapes of tables that row LCRs refer to. Transactions that find none with the table's signature add one each. Old
-- ones that no row LCR refers to any more are deleted by runs.
CREATE TABLE IF NOT EXISTS ddlrepl.captured_shapes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_id oid NOT NULL,
    signature text NOT NULL,     -- a digest of the columns and indexes: changed by DDL
    shape jsonb NOT NULL,        -- as model.table.Table.from_json reads it
    names text[] NOT NULL,       -- of the columns that LCRs have: generated ones follow from the others
    kinds jsonb NOT NULL,        -- by column: the kind of value that conditions read
    image text NOT NULL          -- SQL that gives the row $1 as texts by the names $2
);
CREATE INDEX IF NOT EXISTS captured_shapes_by_table ON ddlrepl.captured_shapes (table_id, signature);

-- The newest window of each synchronous capture: it has the rows of the transactions that its snapshot shows as ended.
CREATE TABLE IF NOT EXISTS ddlrepl.captured_windows (
    channel text NOT NULL,
    client text NOT NULL,
    number bigint NOT NULL,
    ended pg_snapshot NOT NULL,
    is_open boolean NOT NULL,    -- its rows may not be in a published segment yet
    PRIMARY KEY (channel, client)
);
REVOKE ALL ON ddlrepl.captured_lcrs, ddlrepl.captured_windows, ddlrepl.captured_shapes FROM PUBLIC;

-- The type below a domain.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_base(of_type oid) RETURNS oid
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE below(oid, base) AS (
        SELECT t.oid, t.typbasetype FROM pg_type t WHERE t.oid = of_type
        UNION ALL SELECT t.oid, t.typbasetype FROM below JOIN pg_type t ON t.oid = below.base)
    SELECT oid FROM below WHERE base = 0
$$;

CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_table_shape(oid) RETURNS jsonb LANGUAGE plpgsql STABLE
/*shape_settings*/ AS $shape$
BEGIN
RETURN (
/*table_shape*/
);
END
$shape$;

-- The table as it is in this transaction: its shape, and a text of its columns.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_shape(of_table oid, OUT shape_id bigint, OUT columns text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    digest text;
BEGIN
    columns := coalesce((
        SELECT string_agg(concat_ws(' ', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attgenerated), ','
            ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = of_table AND a.attnum > 0 AND NOT a.attisdropped), '');
    digest := md5(columns) || coalesce((
        SELECT md5(string_agg(concat_ws(' ', i.indexrelid, i.indisvalid, i.indisprimary, i.indimmediate,
            i.indisreplident), ',' ORDER BY i.indexrelid))
        FROM pg_index i WHERE i.indrelid = of_table AND i.indisunique), '');
    SELECT s.id INTO shape_id FROM ddlrepl.captured_shapes s
    WHERE s.table_id = of_table AND s.signature = digest LIMIT 1;
    IF NOT FOUND THEN
        shape_id := ddlrepl.sync_capture_new_shape(of_table, digest);
    ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
        -- The transaction's snapshot may show a shape that was deleted since: then this is a serialization failure.
        PERFORM FROM ddlrepl.captured_shapes s WHERE s.id = shape_id FOR KEY SHARE;
    END IF;
END
$$;

-- Notes a shape. Output functions write the values as texts, as they do in the log: a cast could be somebody's function.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_new_shape(of_table oid, signature text) RETURNS bigint
LANGUAGE sql
/*shape_settings*/ AS $shape$
    INSERT INTO ddlrepl.captured_shapes (table_id, signature, shape, names, kinds, image)
    SELECT of_table, signature, ddlrepl.sync_capture_table_shape(of_table),
        coalesce(array_agg(a.attname::text ORDER BY a.attnum), '{}'),
        coalesce(jsonb_object_agg(a.attname, CASE
            WHEN base.oid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype,
                'float4'::regtype, 'float8'::regtype) THEN 'number'
            WHEN base.oid IN ('date'::regtype, 'timestamp'::regtype) THEN 'date'
            WHEN base.oid = 'timestamptz'::regtype THEN 'zoned date'
            WHEN base.oid = 'bytea'::regtype THEN 'raw'
            WHEN base.oid = 'bool'::regtype THEN 'boolean'
            ELSE 'text' END), '{}'),
        coalesce('SELECT jsonb_object($2, ARRAY[' || string_agg(format(
            'CASE WHEN ($1).%1$I IS DISTINCT FROM NULL THEN format(''%%s'', ($1).%1$I) END', a.attname), ', '
            ORDER BY a.attnum) || ']::text[])', 'SELECT ''{}''::jsonb')
    FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN ddlrepl.sync_capture_base(t.oid) ELSE t.oid END) base(oid)
    WHERE a.attrelid = of_table AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    RETURNING id
$shape$;

-- Runs a statement about our triggers, which is nobody's DDL, so that the event triggers of a captured log do not see it.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_run(statement text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF has_function_privilege(to_regprocedure('ddlrepl.begin_own()'), 'EXECUTE')
        AND has_function_privilege(to_regprocedure('ddlrepl.end_own()'), 'EXECUTE') THEN
        PERFORM ddlrepl.begin_own();
        EXECUTE statement;
        PERFORM ddlrepl.end_own();
    ELSE
        EXECUTE statement;
    END IF;
END
$$;

-- A row without all columns but these.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_kept(of_row jsonb, columns text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(of_row) WHERE key = ANY (columns)
$$;

-- The table that a partition's triggers were made for, as the trigger of this name has fired: the server has copied the row
-- trigger of the same function from there, whatever somebody has called it since.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_table(partition oid, called name) RETURNS oid
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE up(tgrelid, tgparentid) AS (
        SELECT t.tgrelid, t.tgparentid
        FROM pg_trigger fired JOIN pg_trigger t ON t.tgrelid = fired.tgrelid AND t.tgfoid = fired.tgfoid AND t.tgtype & 1 = 1
        WHERE fired.tgrelid = partition AND fired.tgname = called
        UNION ALL SELECT t.tgrelid, t.tgparentid FROM up JOIN pg_trigger t ON t.oid = up.tgparentid)
    SELECT tgrelid FROM up WHERE tgparentid = 0
$$;

-- The session's tag.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_tag() RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- As ddlrepl.session_tag has it: whose changes have a tag is for who may have a replication origin.
    tag text := CASE WHEN has_function_privilege(session_user, 'pg_replication_origin_session_setup(text)', 'EXECUTE')
        THEN nullif(current_setting('ddlrepl.tag', true), '') END;
BEGIN
    IF tag IS NULL AND has_function_privilege('pg_replication_origin_session_is_setup()', 'EXECUTE') THEN
        -- A statement of its own: the right is checked before the first part of a condition is evaluated.
        IF pg_replication_origin_session_is_setup() THEN
            tag := 'replication origin';
        END IF;
    END IF;
    RETURN tag;
END
$$;

-- What a transaction leaves in the feed has one tag, for it is applied as a whole or not at all.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_require_tag(client text, tag text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place text := 'ddlrepl.captured_' || md5(client);
    noted text := current_setting(place, true);
    now_noted text := pg_current_xact_id()::text || coalesce(' ' || tag, '');
BEGIN
    IF noted IS DISTINCT FROM now_noted THEN
        IF split_part(noted, ' ', 1) = pg_current_xact_id()::text THEN
            RAISE EXCEPTION USING ERRCODE = 'DR153',
                MESSAGE = '/*tag_changed*/: changes of this transaction were captured with another ddlrepl.tag',
                HINT = 'set ddlrepl.tag before the first change of a transaction';
        END IF;
        PERFORM set_config(place, now_noted, true);
    END IF;
END
$$;

-- What a custom function has made of a row LCR, one or an array of them; NULL: nothing.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_checked(given jsonb, called text, is_array boolean) RETURNS SETOF jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lcr jsonb;
BEGIN
    IF given IS NULL OR given = 'null' THEN
        RETURN;
    END IF;
    IF is_array <> (jsonb_typeof(given) = 'array') THEN
        RAISE EXCEPTION USING ERRCODE = 'DR154', MESSAGE = format('/*no_lcr*/: the transformation function %s gives %s',
            called, CASE WHEN is_array THEN 'no array of row LCRs' ELSE 'no row LCR' END),
            HINT = 'it returns a row LCR as it gets one; with is_array an array of them';
    END IF;
    FOR lcr IN SELECT one FROM jsonb_array_elements(CASE WHEN is_array THEN given ELSE jsonb_build_array(given) END) one
    LOOP
        IF jsonb_typeof(lcr) <> 'object' OR jsonb_typeof(lcr -> 'owner') IS DISTINCT FROM 'string'
            OR jsonb_typeof(lcr -> 'name') IS DISTINCT FROM 'string'
            OR coalesce(lcr ->> 'command', '') NOT IN ('INSERT', 'UPDATE', 'DELETE')
            OR jsonb_typeof(coalesce(lcr -> 'old', '{}')) <> 'object'
            OR jsonb_typeof(coalesce(lcr -> 'new', '{}')) <> 'object' THEN
            RAISE EXCEPTION USING ERRCODE = 'DR154',
                MESSAGE = format('/*no_lcr*/: the transformation function %s gives no row LCR: %s', called, left(lcr::text, 200)),
                HINT = 'a row LCR has owner, name, command (INSERT, UPDATE, DELETE), old and new';
        END IF;
        RETURN NEXT lcr;
    END LOOP;
END
$$;

-- A row that a function has made, with all values as texts.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_texts(of_row jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(key, to_jsonb(CASE value WHEN 'true' THEN 't' WHEN 'false' THEN 'f'
        ELSE value #>> '{}' END)), '{}')
    FROM jsonb_each(of_row)
$$;

-- The types of columns that a function has made, beside what is known of columns: their values tell.
CREATE OR REPLACE FUNCTION ddlrepl.sync_capture_renamed(known jsonb, columns jsonb, lcr jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(key, CASE jsonb_typeof(value) WHEN 'number' THEN 1700 WHEN 'boolean' THEN 16
        ELSE 25 END), '{}') || known
    FROM (SELECT * FROM jsonb_each(coalesce(lcr -> 'old', '{}')) UNION ALL SELECT * FROM jsonb_each(coalesce(lcr -> 'new', '{}'))) v
    WHERE NOT columns ? key
$$;

DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN SELECT oid FROM pg_catalog.pg_proc
                   WHERE pronamespace = to_regnamespace('ddlrepl') AND proname LIKE 'sync\_capture\_%' LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine);
    END LOOP;
END
$$;
