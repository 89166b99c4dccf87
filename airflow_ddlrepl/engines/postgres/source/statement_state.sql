-- What one event trigger leaves for the next one of the same statement stands in the setting ddlrepl.state, which anybody
-- can write, at any moment: code of users runs in the middle of their statements. So it is signed, and numbered: only
-- what was written last in this session counts, and the number of that is where no user reaches it, in the session's
-- memory of a sequence. What was taken back with a savepoint, or written once more, is not the last. A statement that
-- finds nothing of its own takes the worst for granted: see ddlrepl.record. Not logged, because a sequence
-- that is would give the transaction an id, and the server then refuses DROP INDEX CONCURRENTLY.
CREATE UNLOGGED SEQUENCE IF NOT EXISTS ddlrepl.state_number;
-- The same for the setting ddlrepl.named: that the transaction has named its session.
CREATE UNLOGGED SEQUENCE IF NOT EXISTS ddlrepl.session_number;

CREATE OR REPLACE FUNCTION ddlrepl.state_mark(body text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Another key than that of messages, so that neither can be taken for the other.
    secret bytea := sha256((SELECT s.key FROM ddlrepl.signature s) || convert_to('statement state', 'UTF8'));
BEGIN
    RETURN encode(sha256(secret || sha256(secret || convert_to(body, getdatabaseencoding()))), 'hex');
END
$$;

-- The states of the statements that this session is running, the innermost last. Empty where anybody else has written.
CREATE OR REPLACE FUNCTION ddlrepl.states() RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    written text := nullif(current_setting('ddlrepl.state', true), '');
    found jsonb;
BEGIN
    IF left(written, 64) = ddlrepl.state_mark(substr(written, 65)) THEN
        found := substr(written, 65)::jsonb;
        IF (found ->> 'number')::bigint = currval('ddlrepl.state_number') AND (found ->> 'pid')::int = pg_backend_pid() THEN
            RETURN found -> 'states';
        END IF;
    END IF;
    RETURN '[]';
EXCEPTION WHEN object_not_in_prerequisite_state THEN   -- DISCARD SEQUENCES
    RETURN '[]';
END
$$;

-- For the session, not the transaction: some statements (CONCURRENTLY) run in several.
CREATE OR REPLACE FUNCTION ddlrepl.write_states(states jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    body text := jsonb_build_object(
        'number', nextval('ddlrepl.state_number'), 'pid', pg_backend_pid(), 'states', states)::text;
BEGIN
    PERFORM set_config('ddlrepl.state', CASE WHEN states = '[]' THEN '' ELSE ddlrepl.state_mark(body) || body END, false);
END
$$;

-- Statements are told apart by the functions that they are called from, with lines and texts: one that runs inside of
-- another always has more of them.
-- plpgsql, here and in all that runs for each statement: it keeps what it has parsed for the session, and expressions
-- without a query need no plan.
CREATE OR REPLACE FUNCTION ddlrepl.place_of(context text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN md5(CASE WHEN strpos(context, E'\n') > 0 THEN substr(context, strpos(context, E'\n')) ELSE '' END);
END
$$;

-- Where the state of the statement at this place is among these, from 0; NULL: nowhere.
CREATE OR REPLACE FUNCTION ddlrepl.state_at(states jsonb, place text) RETURNS int
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    FOR number IN REVERSE jsonb_array_length(states) - 1 .. 0 LOOP
        IF states -> number ->> 'place' = place THEN
            RETURN number;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.states_before(states jsonb, number int) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found jsonb := states;
BEGIN
    WHILE jsonb_array_length(found) > number LOOP
        found := found - -1;
    END LOOP;
    RETURN found;
END
$$;

-- Is the statement that runs now one of ours, run by ddlrepl.run_own?
CREATE OR REPLACE FUNCTION ddlrepl.is_own(states jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((states -> -1 ->> 'own')::boolean, false);
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.begin_own() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM ddlrepl.write_states(ddlrepl.states() || '{"own": true}');
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.end_own() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    states jsonb := ddlrepl.states();
BEGIN
    PERFORM ddlrepl.write_states(CASE WHEN ddlrepl.is_own(states) THEN states - -1 ELSE states END);
END
$$;

-- Runs a statement of ours, which no event trigger of ours is to see: one that runs no code of anybody else's, such as
-- a change of a publication or of a replica identity. Each is run so; the text of a context tells nothing.
CREATE OR REPLACE FUNCTION ddlrepl.run_own(statement text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM ddlrepl.begin_own();
    EXECUTE statement;
    PERFORM ddlrepl.end_own();
END
$$;
