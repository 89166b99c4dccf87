-- What the beginning of a statement and table_rewrite leave for its end, see ddlrepl.states.

-- What the tables are like before a statement shows what was changed where no event trigger fired. Kept for the end of
-- the statement, which tells it. Nothing is told of before where we can't look (a lock, mostly: no gap, for the end of the
-- statement looks again), or where the statement is one of many in a query string that names many tables: looking at them
-- all each time would take too long. caller: see ddlrepl.on_caller.
CREATE OR REPLACE FUNCTION ddlrepl.command_starts(
    tag text, context text, query text, settings jsonb, caller text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    states jsonb;
    state jsonb;
    statement text;
    text_known text;   -- at least the statement is in it
    ids oid[];
BEGIN
    states := ddlrepl.states_to_record(tag);
    IF states IS NULL THEN
        RETURN;
    END IF;
    WHILE jsonb_array_length(states) > 20 LOOP   -- of statements that failed
        states := states - 0;
    END LOOP;
    state := jsonb_build_object(
        'place', ddlrepl.place_of(context), 'began', transaction_timestamp(), 'settings', settings);
    BEGIN
        statement := ddlrepl.statement_of(context, query);
        text_known := coalesce(statement, query);
        IF tag = 'ALTER TABLE' AND text_known ~* 'unlogged' AND (statement IS NOT NULL OR strpos(context, E'\n') = 0) THEN
            state := state || jsonb_build_object('taken_out', ddlrepl.let_be_unlogged(text_known, caller::jsonb));
        END IF;
        IF tag ~ '^(ALTER|DROP) ' OR tag = 'CREATE INDEX' THEN
            ids := ARRAY(SELECT ddlrepl.named(tag, text_known));
            IF cardinality(ids) > 0 AND (statement IS NOT NULL OR cardinality(ids) <= 20) THEN
                SELECT state || jsonb_build_object('before', jsonb_build_object(
                    'snapshot', pg_current_snapshot(), 'tables', jsonb_agg(ddlrepl.table_shape(t.id))))
                INTO state FROM unnest(ids) t(id);
                IF tag = 'DROP INDEX' THEN
                    state := state || jsonb_build_object('indexes', ddlrepl.tables_of_indexes(ids));
                END IF;
            END IF;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
    PERFORM ddlrepl.write_states(states || state);
END
$$;

-- table_rewrite fires in the middle of its statement; the end of the statement tells which tables it was. why: 1 is
-- SET LOGGED/UNLOGGED, 8 another access method: these alone leave the values as they are.
CREATE OR REPLACE FUNCTION ddlrepl.rewritten(id oid, why int, context text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place text := ddlrepl.place_of(context);
    states jsonb := ddlrepl.states();
    at int := ddlrepl.state_at(states, place);
    state jsonb := coalesce(states -> at, jsonb_build_object('place', place, 'lost', true));
BEGIN
    IF why & ~9 <> 0 THEN
        PERFORM ddlrepl.write_states(ddlrepl.states_before(states, coalesce(at, 0)) || (state || jsonb_build_object(
            'rewritten', coalesce(state -> 'rewritten', '[]') || to_jsonb(id::int8))));
    END IF;
END
$$;
