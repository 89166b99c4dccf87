-- Messages that applications put into queues. A message is written into the log with our signature and its writer's
-- name, if the writer may do by hand what an LCR in it does. Who may: GRANT INSERT (message) ON ddlrepl.message, USAGE
-- on the schema, and EXECUTE on ddlrepl.enqueue; the table stays empty.
CREATE TABLE IF NOT EXISTS ddlrepl.message (
    message text NOT NULL,
    -- Nobody is granted this column. Its default is the role that the writer acts as: a function with the rights of its
    -- owner can't see that of its caller, and session_user is another one in somebody's function.
    writer name NOT NULL DEFAULT current_user
);
REVOKE ALL ON ddlrepl.message FROM PUBLIC;

-- SCHEMA.NAME, or ["schema", "name"], of a message. The reader compares it with what it reads.
CREATE OR REPLACE FUNCTION ddlrepl.message_object(said json) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[] := CASE json_typeof(said)
        WHEN 'array' THEN ARRAY(SELECT e.value FROM json_array_elements_text(said) WITH ORDINALITY e(value, at) ORDER BY e.at)
        WHEN 'string' THEN parse_ident(said #>> '{}') END;
BEGIN
    IF cardinality(parts) = 2 THEN
        RETURN parts;
    END IF;
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'the message has no object of the form SCHEMA.NAME';
END
$$;

-- May the writer do to the object by hand what the LCR does? What is not here, or what row security hides a part of, is
-- for its administrators alone.
CREATE OR REPLACE FUNCTION ddlrepl.message_right(writer name, command text, object text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place record;
BEGIN
    IF pg_has_role(writer, (SELECT d.datdba FROM pg_database d WHERE d.datname = current_database()), 'USAGE') THEN
        RETURN true;
    END IF;
    SELECT c.oid, c.relowner, c.relrowsecurity, n.oid AS schema_id INTO place
    FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = object[2]
    WHERE n.nspname = object[1];
    IF NOT FOUND OR object[1] ~ '^(pg_.*|information_schema|ddlrepl)$' THEN
        RETURN false;
    END IF;
    IF command IN ('INSERT', 'UPDATE', 'DELETE') THEN
        RETURN coalesce(has_schema_privilege(writer, place.schema_id, 'USAGE')
            AND has_table_privilege(writer, place.oid, command)
            AND (NOT place.relrowsecurity OR pg_has_role(writer, place.relowner, 'USAGE')), false);
    END IF;
    RETURN command ~ ' (TABLE|INDEX|SEQUENCE|VIEW|TRIGGER)$' AND CASE
        WHEN place.oid IS NOT NULL THEN pg_has_role(writer, place.relowner, 'USAGE')
        ELSE has_schema_privilege(writer, place.schema_id, 'CREATE') END;
END
$$;

-- The largest message that every channel of the database reads: limits.message_bytes of its file.
CREATE OR REPLACE FUNCTION ddlrepl.largest_message() RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(min((c.scope ->> 'message_bytes')::bigint), 134217728) FROM ddlrepl.channel c
$$;

CREATE OR REPLACE FUNCTION ddlrepl.send_message() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said json;
    command text;
    objects text[] := '{}';
    object text[];
    place text;
    largest bigint := ddlrepl.largest_message();
    record bytea;
BEGIN
    IF octet_length(NEW.message) > largest THEN
        RAISE EXCEPTION USING ERRCODE = '54000',
            MESSAGE = format('the message has %s bytes, and the largest that is read has %s', octet_length(NEW.message), largest);
    END IF;
    said := NEW.message::json;
    command := upper(regexp_replace(btrim(said ->> 'command', E' \t\r\n'), E'[ \t\r\n]+', ' ', 'g'));
    IF json_typeof(said) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'a message is a JSON object';
    END IF;
    IF said -> 'type' IS NULL THEN
        FOREACH place IN ARRAY ARRAY['object', 'base'] LOOP
            CONTINUE WHEN place = 'base' AND coalesce(json_typeof(said -> place), 'null') = 'null';
            object := ddlrepl.message_object(said -> place);
            objects := objects || ARRAY[object];
            IF NOT coalesce(ddlrepl.message_right(NEW.writer, command, object), false) THEN
                RAISE EXCEPTION USING ERRCODE = '42501',
                    MESSAGE = format('%s may not enqueue the %s of %s', NEW.writer, command, array_to_string(object, '.')),
                    DETAIL = 'A message about an object needs the rights that its writer would need to do it by hand.';
            END IF;
        END LOOP;
    END IF;
    record := ddlrepl.signed(jsonb_build_object(
        'v', 1, 'kind', 'message', 'writer', NEW.writer, 'command', command, 'objects', to_jsonb(objects),
        'message', NEW.message));
    IF octet_length(record) + 64 > largest THEN   -- with what the server writes before it
        RAISE EXCEPTION USING ERRCODE = '54000',
            MESSAGE = format('the message has %s bytes in the log, and the largest that is read has %s', octet_length(record), largest);
    END IF;
    PERFORM pg_logical_emit_message(true, 'ddlrepl.message', record);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER send_message BEFORE INSERT ON ddlrepl.message
    FOR EACH ROW EXECUTE FUNCTION ddlrepl.send_message();
ALTER TABLE ddlrepl.message ENABLE ALWAYS TRIGGER send_message;

CREATE OR REPLACE FUNCTION ddlrepl.enqueue(message text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO ddlrepl.message (message) VALUES (enqueue.message)
$$;

-- The tag of a session's changes, by which rules leave them out: of a role that may have a replication origin, whose
-- changes can be told apart in any case.
CREATE OR REPLACE FUNCTION ddlrepl.session_tag() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN has_function_privilege(session_user, 'pg_replication_origin_session_setup(text)', 'EXECUTE')
        THEN coalesce(current_setting('ddlrepl.tag', true), '') ELSE '' END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ddlrepl FROM PUBLIC;
