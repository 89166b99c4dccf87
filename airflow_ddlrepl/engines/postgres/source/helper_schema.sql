-- The helper schema: which tables each channel has, and what keeps their publication and replica identity right.
-- Inspection and the event triggers (event_triggers.sql) both stand on it. Nobody but its owner needs rights on it.
CREATE SCHEMA IF NOT EXISTS ddlrepl;
REVOKE ALL ON SCHEMA ddlrepl FROM PUBLIC;

CREATE TABLE IF NOT EXISTS ddlrepl.channel (
    name text PRIMARY KEY,
    publication text NOT NULL,
    publication_id oid,          -- another one than pg_publication's: somebody dropped it and created it again
    slot text NOT NULL,
    slot_created pg_lsn,         -- the first position that the slot can give
    scope jsonb NOT NULL,        -- regular expressions, see scope.py
    replica_identity text NOT NULL CHECK (replica_identity IN ('full', 'leave'))
);

CREATE TABLE IF NOT EXISTS ddlrepl.member (
    channel text NOT NULL,
    table_id oid NOT NULL,
    schema_name text NOT NULL,
    table_name text NOT NULL,
    state text NOT NULL CHECK (state IN (
        'published',             -- its rows are in the stream
        'tracked',               -- a partitioned table: it has a shape, its partitions have the rows
        'left out',              -- in the channel, but not published: reason
        'bystander')),           -- was there at activation and may only join under another name
    reason text,
    parent oid,                  -- the partitioned table it is a partition of
    key_index oid,               -- to know it again when it is dropped
    identity_before "char",      -- what deactivation puts back: pg_class.relreplident and the index
    index_before text,
    left_at pg_lsn,              -- since where its rows are not in the stream, of state 'left out'
    cause text,                  -- the reason as a value, see Cause of membership.py
    PRIMARY KEY (channel, table_id)
);
ALTER TABLE ddlrepl.member ADD COLUMN IF NOT EXISTS left_at pg_lsn;
ALTER TABLE ddlrepl.member ADD COLUMN IF NOT EXISTS cause text;

-- Why a table is not as it should be, as a value. Earlier versions wrote the reason only.
CREATE OR REPLACE FUNCTION ddlrepl.cause_of(m ddlrepl.member) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT /*cause*/
$$;

-- The key of our messages' signatures, see ddlrepl.signed. Who reads the log for us must be able to read it.
CREATE TABLE IF NOT EXISTS ddlrepl.signature (key bytea NOT NULL);
INSERT INTO ddlrepl.signature (key)
SELECT pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
WHERE NOT EXISTS (SELECT FROM ddlrepl.signature);

-- What capture tells our messages by: anybody may write messages, nobody but us can read the key. The transaction's
-- id is signed, too, so that a message that somebody saw can't be written once more.
CREATE OR REPLACE FUNCTION ddlrepl.signed(message jsonb) RETURNS bytea
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secret bytea := (SELECT s.key FROM ddlrepl.signature s);
    body text := (message || jsonb_build_object('xid', pg_current_xact_id()::text))::text;
    mark text := encode(sha256(secret || sha256(secret || convert_to(body, 'UTF8'))), 'hex');
BEGIN
    RETURN convert_to(left(body, -1) || ',"signature":"' || mark || '"}', 'UTF8');
END
$$;

-- plpgsql, here and below, because it keeps its plans for the session.
CREATE OR REPLACE FUNCTION ddlrepl.table_shape(oid) RETURNS jsonb LANGUAGE plpgsql STABLE
/*shape_settings*/ AS $shape$
BEGIN
RETURN (
/*table_shape*/
);
END
$shape$;

-- Does any [schema, table, but not] of these patterns match?
CREATE OR REPLACE FUNCTION ddlrepl.matches(patterns jsonb, of_schema text, of_table text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM jsonb_array_elements(patterns) p
        WHERE of_schema ~ (p ->> 0) AND of_table ~ (p ->> 1) AND (p ->> 2 IS NULL OR of_table !~ (p ->> 2)))
$$;

-- Is the table in the channel, or does it join now: by its name, or as a partition of a table that is in it?
CREATE OR REPLACE FUNCTION ddlrepl.belongs(to_channel ddlrepl.channel, id oid) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known ddlrepl.member;
    named record;
BEGIN
    SELECT n.nspname, c.relname, i.inhparent INTO named
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
    WHERE c.oid = id AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
      AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'ddlrepl')
      AND NOT EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e');
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT * INTO known FROM ddlrepl.member WHERE channel = to_channel.name AND table_id = id;
    IF known.state <> 'bystander' THEN
        RETURN true;
    END IF;
    IF ddlrepl.matches(to_channel.scope -> 'exclude', named.nspname::text, named.relname::text) THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM ddlrepl.member
               WHERE channel = to_channel.name AND table_id = named.inhparent AND state <> 'bystander') THEN
        RETURN true;
    END IF;
    RETURN (known.schema_name, known.table_name) IS DISTINCT FROM (named.nspname::text, named.relname::text)
        AND ddlrepl.matches(to_channel.scope -> 'joining', named.nspname::text, named.relname::text);
END
$$;

-- Does a target look at the table's old rows (restrict, transform), and is it ours to have the log tell them whole?
CREATE OR REPLACE FUNCTION ddlrepl.wants_whole_rows(of_channel ddlrepl.channel, id oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT of_channel.replica_identity = 'full' AND EXISTS (
        SELECT FROM jsonb_array_elements(of_channel.scope -> 'whole') p
        JOIN pg_class c ON c.oid = id AND c.relname ~ (p ->> 1)
        JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname ~ (p ->> 0)
        WHERE p ->> 2 IS NULL OR EXISTS (
            SELECT FROM pg_attribute a
            WHERE a.attrelid = id AND a.attnum > 0 AND NOT a.attisdropped AND a.attname ~ (p ->> 2)))
$$;

-- Does the server take UPDATE and DELETE under REPLICA IDENTITY FULL? Since version 18 it refuses them where a generated
-- column is not published: a virtual one never is, a stored one where the publication says so.
CREATE OR REPLACE FUNCTION ddlrepl.full_works(by_publication text, shape jsonb) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT current_setting('server_version_num')::int < 180000 OR NOT EXISTS (
        SELECT FROM jsonb_array_elements(shape -> 'columns') c
        WHERE c ->> 'generated' <> '' AND NOT (c ->> 'generated' = 'stored' AND EXISTS (
            SELECT FROM pg_publication p WHERE p.pubname = by_publication AND to_jsonb(p) ->> 'pubgencols' = 's')))
$$;

-- What makes the user's UPDATE and DELETE work once the table is published: 'keep', what REPLICA IDENTITY
-- is to be set to, or 'leave: ' and the cause. mode: 'full', 'leave', or 'whole' where a key is not enough. full_works: as the
-- function of that name tells.
DROP FUNCTION IF EXISTS ddlrepl.identity_plan(jsonb, text);
CREATE OR REPLACE FUNCTION ddlrepl.identity_plan(shape jsonb, mode text, full_works boolean) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key jsonb := nullif(shape -> 'key', 'null');
    is_usable boolean := CASE shape ->> 'identity'
        WHEN 'full' THEN full_works
        WHEN 'default' THEN NOT (mode = 'whole' AND full_works) AND coalesce((key ->> 'is_primary')::boolean, false)
        WHEN 'index' THEN NOT (mode = 'whole' AND full_works) AND EXISTS (
            SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE i.indrelid = (shape ->> 'id')::oid AND i.indisreplident AND c.relname = key ->> 'name')
        ELSE false END;
BEGIN
    RETURN CASE
        WHEN is_usable THEN 'keep'
        WHEN mode = 'leave' THEN 'leave: identity'
        WHEN full_works THEN 'FULL'
        WHEN (key ->> 'is_primary')::boolean THEN 'DEFAULT'
        WHEN key IS NOT NULL THEN format('USING INDEX %I', key ->> 'name')
        ELSE 'leave: generated' END;
END
$$;

-- Does this transaction hold the table alone? Else others may be writing to it, and what they write before we commit
-- is not in the log of a table that is published only now.
CREATE OR REPLACE FUNCTION ddlrepl.is_held(id oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks l
        WHERE l.locktype = 'relation' AND l.pid = pg_backend_pid() AND l.mode = 'AccessExclusiveLock' AND l.granted
          AND l.relation = id AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
$$;

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
    ELSIF there.oid IS NULL OR there.tgenabled <> 'A'
        OR there.tgargs <> convert_to(md5(condition), 'SQL_ASCII') || decode('00', 'hex') THEN
        PERFORM ddlrepl.run_own(format('CREATE OR REPLACE TRIGGER %I BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s'
            ' FOR EACH STATEMENT WHEN (%s) EXECUTE FUNCTION ddlrepl.name_session(%L)',
            called, spelled, condition, md5(condition)));
        PERFORM ddlrepl.run_own(format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', spelled, called));
    END IF;
END
$$;

-- Brings one table of a channel to its right state: replica identity, publication, membership.
-- Returns 'filled' when it was published just now and has rows already, else its state, or 'gone'.
CREATE OR REPLACE FUNCTION ddlrepl.tend(channel_name text, id oid) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    ch ddlrepl.channel;
    shape jsonb;
    spelled text;
    known ddlrepl.member;
    now_is ddlrepl.member;
    mode text;
    plan text;
    is_listed boolean;
    was_published boolean;
    is_filled boolean := false;
    -- A capture has published it late, and its refresh is not asked for yet: that has to stay known.
    is_late boolean;
BEGIN
    BEGIN
        shape := ddlrepl.table_shape(id);
    EXCEPTION WHEN lock_not_available THEN
        -- Newer servers lock a table to spell its expressions.
        INSERT INTO ddlrepl.member AS m (channel, table_id, schema_name, table_name, state, reason, left_at, cause)
        SELECT channel_name, id, n.nspname, c.relname, 'left out', format('%s (%s)', SQLERRM, SQLSTATE),
            pg_current_wal_insert_lsn(), 'lock'
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = id
        ON CONFLICT DO NOTHING;
        RETURN coalesce((SELECT m.state FROM ddlrepl.member m WHERE m.channel = channel_name AND m.table_id = id), 'gone');
    END;
    IF shape IS NULL THEN
        DELETE FROM ddlrepl.member WHERE channel = channel_name AND table_id = id;
        RETURN 'gone';
    END IF;
    SELECT * INTO STRICT ch FROM ddlrepl.channel WHERE name = channel_name;
    SELECT * INTO known FROM ddlrepl.member WHERE channel = channel_name AND table_id = id;
    -- With all its rows and columns: what somebody publishes in part is published again.
    SELECT count(*) > 0, coalesce(bool_and(r.prqual IS NULL AND (r.prattrs IS NULL OR NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = r.prrelid AND a.attnum > 0 AND NOT a.attisdropped
              AND a.attgenerated = '' AND a.attnum <> ALL (r.prattrs)))), false)
    INTO is_listed, was_published
    FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
    WHERE p.pubname = ch.publication AND r.prrelid = id;
    now_is := known;
    now_is.channel := channel_name;
    now_is.table_id := id;
    now_is.schema_name := shape -> 'name' ->> 0;
    now_is.table_name := shape -> 'name' ->> 1;
    now_is.parent := (shape -> 'partition' ->> 'of')::oid;
    spelled := format('%I.%I', now_is.schema_name, now_is.table_name);
    now_is.key_index := CASE WHEN shape -> 'key' ->> 'name' IS NOT NULL THEN
        to_regclass(format('%I.%I', now_is.schema_name, shape -> 'key' ->> 'name')) END;
    is_late := was_published AND coalesce(ddlrepl.cause_of(known) = 'late', false);
    now_is.reason := CASE WHEN is_late THEN known.reason END;
    now_is.cause := CASE WHEN is_late THEN 'late' END;
    IF NOT ddlrepl.is_utf8(shape::text) OR EXISTS (
        SELECT FROM ddlrepl.member m
        WHERE m.channel = channel_name AND m.table_id = now_is.parent AND ddlrepl.cause_of(m) = 'encoding') THEN
        now_is.state := 'left out';
        now_is.schema_name := ddlrepl.as_utf8(now_is.schema_name);
        now_is.table_name := ddlrepl.as_utf8(now_is.table_name);
        now_is.reason := '/*not_utf8*/';
        now_is.cause := 'encoding';
        IF is_listed THEN
            PERFORM ddlrepl.run_own(format('ALTER PUBLICATION %I DROP TABLE ONLY %s', ch.publication, spelled));
        END IF;
    ELSIF shape ->> 'partition_key' IS NOT NULL THEN
        now_is.state := 'tracked';
    ELSIF (shape ->> 'unlogged')::boolean THEN
        now_is.state := 'left out';
        now_is.reason := 'it is unlogged: its rows are not in the log';
        now_is.cause := 'unlogged';
    ELSE
        BEGIN
            mode := CASE WHEN ddlrepl.wants_whole_rows(ch, id) THEN 'whole' ELSE ch.replica_identity END;
            plan := ddlrepl.identity_plan(shape, mode, ddlrepl.full_works(ch.publication, shape));
            IF plan = 'keep' AND mode <> 'whole' AND known.identity_before = 'd' AND shape ->> 'identity' = 'full'
                AND (shape -> 'key' ->> 'is_primary')::boolean THEN
                plan := 'DEFAULT';   -- it has got a primary key since: no need for whole old rows any more
            END IF;
            IF plan LIKE 'leave: %' THEN
                now_is.state := 'left out';
                now_is.cause := substr(plan, 8);
                now_is.reason := CASE now_is.cause
                    WHEN 'identity' THEN 'it has no usable replica identity, and replica_identity says leave'
                    ELSE 'it has a generated column and no key without one:'
                         ' under REPLICA IDENTITY FULL the server would refuse UPDATE and DELETE' END;
                IF is_listed THEN
                    PERFORM ddlrepl.run_own(format('ALTER PUBLICATION %I DROP TABLE ONLY %s', ch.publication, spelled));
                END IF;
            ELSE
                now_is.state := 'published';
                IF plan <> 'keep' THEN
                    IF known.identity_before IS NULL THEN
                        SELECT c.relreplident, x.relname INTO now_is.identity_before, now_is.index_before
                        FROM pg_class c
                        LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisreplident
                        LEFT JOIN pg_class x ON x.oid = i.indexrelid
                        WHERE c.oid = id;
                    END IF;
                    PERFORM ddlrepl.run_own(format('ALTER TABLE %s REPLICA IDENTITY %s', spelled, plan));
                END IF;
                IF is_listed AND NOT was_published THEN
                    PERFORM ddlrepl.run_own(format('ALTER PUBLICATION %I DROP TABLE ONLY %s', ch.publication, spelled));
                END IF;
                IF NOT was_published THEN
                    PERFORM ddlrepl.run_own(format('ALTER PUBLICATION %I ADD TABLE ONLY %s', ch.publication, spelled));
                    -- Never a SELECT from a user's table: planning it can run functions of its owner's, with our rights.
                    is_filled := pg_relation_size(id) > 0 OR NOT ddlrepl.is_held(id);
                END IF;
                -- Left out or taken out until now: the log lacks what happened to its rows, be it that all are gone.
                is_filled := is_filled OR known.state = 'left out' OR known.state = 'published' AND NOT was_published;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            now_is.state := CASE WHEN was_published THEN 'published' ELSE 'left out' END;
            now_is.reason := CASE WHEN is_late THEN known.reason ELSE format('%s (%s)', ddlrepl.as_utf8(SQLERRM), SQLSTATE) END;
            now_is.cause := CASE WHEN is_late THEN 'late' WHEN SQLSTATE = '55P03' THEN 'lock' ELSE 'error' END;
            now_is.identity_before := known.identity_before;
            now_is.index_before := known.index_before;
            is_filled := false;
        END;
    END IF;
    now_is.left_at := CASE WHEN now_is.state = 'left out' THEN coalesce(known.left_at, pg_current_wal_insert_lsn()) END;
    IF now_is IS DISTINCT FROM known THEN
        DELETE FROM ddlrepl.member WHERE channel = channel_name AND table_id = id;
        INSERT INTO ddlrepl.member VALUES (now_is.*);
    END IF;
    IF ch.scope ->> 'sessions' IS NOT NULL THEN
        BEGIN
            PERFORM ddlrepl.name_sessions(channel_name, id);
        EXCEPTION WHEN OTHERS THEN
            NULL;   -- the next capture tries again and says so
        END;
    END IF;
    RETURN CASE WHEN is_filled THEN 'filled' ELSE now_is.state END;
END
$$;

-- Deactivation: replica identities that we set go back to what they were, unless another channel needs them.
CREATE OR REPLACE FUNCTION ddlrepl.put_back(channel_name text, id oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine ddlrepl.member;
    present record;
BEGIN
    DELETE FROM ddlrepl.member WHERE channel = channel_name AND table_id = id RETURNING * INTO mine;
    PERFORM ddlrepl.name_sessions(channel_name, id);
    IF mine.identity_before IS NULL THEN
        RETURN;
    END IF;
    UPDATE ddlrepl.member SET identity_before = mine.identity_before, index_before = mine.index_before
    WHERE table_id = id AND state = 'published' AND identity_before IS NULL;
    IF FOUND OR EXISTS (SELECT FROM ddlrepl.member WHERE table_id = id AND state = 'published') THEN
        RETURN;
    END IF;
    SELECT n.nspname, c.relname, c.relreplident, CASE WHEN mine.index_before IS NOT NULL THEN
            to_regclass(format('%I.%I', n.nspname, mine.index_before)) END AS index_now
    INTO present
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = id;
    -- What is no longer what we set, the table's owner has set since.
    IF FOUND AND (mine.identity_before <> 'i' OR present.index_now IS NOT NULL) AND NOT (
        present.relreplident = 'n' OR present.relreplident = 'i' AND NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = id AND a.attgenerated <> '')) THEN
        PERFORM ddlrepl.run_own(format('ALTER TABLE %I.%I REPLICA IDENTITY %s', present.nspname, present.relname,
            CASE mine.identity_before
                WHEN 'f' THEN 'FULL'
                WHEN 'n' THEN 'NOTHING'
                WHEN 'i' THEN format('USING INDEX %I', mine.index_before)
                ELSE 'DEFAULT' END));
    END IF;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ddlrepl FROM PUBLIC;
