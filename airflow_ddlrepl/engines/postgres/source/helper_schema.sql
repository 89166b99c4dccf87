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
-- For statements about a table, an index, a partitioned table: whose channel it is says nothing about.
CREATE INDEX IF NOT EXISTS member_table ON ddlrepl.member (table_id);
CREATE INDEX IF NOT EXISTS member_key ON ddlrepl.member (key_index);
CREATE INDEX IF NOT EXISTS member_parent ON ddlrepl.member (parent);
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
/*table_shape*/
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
