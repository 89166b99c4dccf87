-- What makes a table right for a channel: its replica identity, its place in the publication, its row in ddlrepl.member.

-- Does a target look at the table's old rows (restrict, transform), and is it ours to have the log tell them whole?
CREATE OR REPLACE FUNCTION ddlrepl.wants_whole_rows(of_channel ddlrepl.channel, id oid) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF of_channel.replica_identity <> 'full' OR coalesce(of_channel.scope -> 'whole', '[]') = '[]' THEN
        RETURN false;
    END IF;
    RETURN EXISTS (
        SELECT FROM jsonb_array_elements(of_channel.scope -> 'whole') p
        JOIN pg_class c ON c.oid = id AND c.relname ~ (p ->> 1)
        JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname ~ (p ->> 0)
        WHERE p ->> 2 IS NULL OR EXISTS (
            SELECT FROM pg_attribute a
            WHERE a.attrelid = id AND a.attnum > 0 AND NOT a.attisdropped AND a.attname ~ (p ->> 2)));
END
$$;

-- Does the server take UPDATE and DELETE under REPLICA IDENTITY FULL? Since version 18 it refuses them where a generated
-- column is not published: a virtual one never is, a stored one where the publication says so.
CREATE OR REPLACE FUNCTION ddlrepl.full_works(by_publication text, shape jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('server_version_num')::int < 180000
        OR NOT jsonb_path_exists(shape, '$.columns[*] ? (@.generated != "")') THEN
        RETURN true;
    END IF;
    RETURN NOT EXISTS (
        SELECT FROM jsonb_array_elements(shape -> 'columns') c
        WHERE c ->> 'generated' <> '' AND NOT (c ->> 'generated' = 'stored' AND EXISTS (
            SELECT FROM pg_publication p WHERE p.pubname = by_publication AND to_jsonb(p) ->> 'pubgencols' = 's')));
END
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
        ELSE false END;
BEGIN
    IF shape ->> 'identity' = 'index' AND NOT (mode = 'whole' AND full_works) THEN
        is_usable := EXISTS (
            SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE i.indrelid = (shape ->> 'id')::oid AND i.indisreplident AND c.relname = key ->> 'name');
    END IF;
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

-- Brings one table of a channel to its right state: replica identity, publication, membership. shape: as the table is
-- now; NULL: not known. Returns its state, or 'filled' when it was published just now and has rows already, or 'gone';
-- and its shape, NULL where it is not known.
CREATE OR REPLACE FUNCTION ddlrepl.tended(ch ddlrepl.channel, id oid, INOUT shape jsonb, OUT state text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_other boolean := false;   -- another shape than at the beginning
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
    IF shape IS NULL THEN
        BEGIN
            shape := ddlrepl.table_shape(id);
        EXCEPTION WHEN lock_not_available THEN
            -- Newer servers lock a table to spell its expressions.
            INSERT INTO ddlrepl.member AS m (channel, table_id, schema_name, table_name, state, reason, left_at, cause)
            SELECT ch.name, id, ddlrepl.as_utf8(n.nspname::text), ddlrepl.as_utf8(c.relname::text), 'left out',
                format('%s (%s)', ddlrepl.as_utf8(SQLERRM), SQLSTATE), pg_current_wal_insert_lsn(), 'lock'
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = id
            ON CONFLICT DO NOTHING;
            state := coalesce((SELECT m.state FROM ddlrepl.member m WHERE m.channel = ch.name AND m.table_id = id), 'gone');
            RETURN;
        END;
    END IF;
    IF shape IS NULL THEN
        DELETE FROM ddlrepl.member m WHERE m.channel = ch.name AND m.table_id = id;
        state := 'gone';
        RETURN;
    END IF;
    SELECT * INTO known FROM ddlrepl.member m WHERE m.channel = ch.name AND m.table_id = id;
    -- With all its rows and columns: what somebody publishes in part is published again.
    SELECT count(*) > 0, coalesce(bool_and(r.prqual IS NULL AND (r.prattrs IS NULL OR NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = r.prrelid AND a.attnum > 0 AND NOT a.attisdropped
              AND a.attgenerated = '' AND a.attnum <> ALL (r.prattrs)))), false)
    INTO is_listed, was_published
    FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
    WHERE p.pubname = ch.publication AND r.prrelid = id;
    now_is := known;
    now_is.channel := ch.name;
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
        WHERE m.channel = ch.name AND m.table_id = now_is.parent AND ddlrepl.cause_of(m) = 'encoding') THEN
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
                    is_other := true;
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
        DELETE FROM ddlrepl.member m WHERE m.channel = ch.name AND m.table_id = id;
        INSERT INTO ddlrepl.member VALUES (now_is.*);
    END IF;
    IF ch.scope ->> 'sessions' IS NOT NULL THEN
        BEGIN
            PERFORM ddlrepl.name_sessions(ch.name, id);
        EXCEPTION WHEN OTHERS THEN
            NULL;   -- the next capture tries again and says so
        END;
    END IF;
    state := CASE WHEN is_filled THEN 'filled' ELSE now_is.state END;
    IF is_other THEN
        shape := NULL;
    END IF;
END
$$;

-- Brings one table of a channel to its right state; returns what ddlrepl.tended tells of it.
CREATE OR REPLACE FUNCTION ddlrepl.tend(channel_name text, id oid) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ch ddlrepl.channel;
BEGIN
    SELECT * INTO STRICT ch FROM ddlrepl.channel c WHERE c.name = channel_name;
    RETURN (SELECT t.state FROM ddlrepl.tended(ch, id, NULL) t);
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ddlrepl FROM PUBLIC;
