-- SET UNLOGGED: the server refuses it for a table in a publication. So tables whose names stand behind ALTER TABLE in
-- such a text leave ours before it, in the user's transaction; the end of the statement brings back those that stayed as
-- they were. Whatever goes wrong in here, the server then says what it would have said.
CREATE OR REPLACE FUNCTION ddlrepl.let_be_unlogged(said text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    listed record;
BEGIN
    FOR listed IN
        SELECT DISTINCT r.prrelid, ch.publication, format('%I.%I', n.nspname, c.relname) AS spelled
        FROM ddlrepl.named('ALTER TABLE', said) t(id)
        JOIN pg_class c ON c.oid = t.id
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_publication_rel r ON r.prrelid = c.oid
        JOIN pg_publication p ON p.oid = r.prpubid
        JOIN ddlrepl.channel ch ON ch.publication = p.pubname
        JOIN ddlrepl.member m ON m.channel = ch.name AND m.table_id = c.oid AND m.state = 'published'
        WHERE c.relkind = 'r' AND c.relpersistence = 'p'
        ORDER BY 1, 2
    LOOP
        EXECUTE format('ALTER PUBLICATION %I DROP TABLE ONLY %s', listed.publication, listed.spelled);
        PERFORM set_config('ddlrepl.taken_out', ltrim(
            coalesce(current_setting('ddlrepl.taken_out', true), '') || ' ' || listed.prrelid), true);
    END LOOP;
EXCEPTION WHEN OTHERS THEN
    NULL;
END
$$;

-- What let_be_unlogged took out and the statement left as it was is in the publication again before anybody sees it gone.
CREATE OR REPLACE FUNCTION ddlrepl.bring_back() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    missing record;
    taken oid[] := string_to_array(current_setting('ddlrepl.taken_out'), ' ');
BEGIN
    PERFORM set_config('ddlrepl.taken_out', '', true);
    FOR missing IN
        SELECT ch.publication, format('%I.%I', n.nspname, c.relname) AS spelled
        FROM unnest(taken) t(id)
        JOIN pg_class c ON c.oid = t.id AND c.relpersistence = 'p'
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN ddlrepl.member m ON m.table_id = c.oid AND m.state = 'published'
        JOIN ddlrepl.channel ch ON ch.name = m.channel
        WHERE NOT EXISTS (
            SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
            WHERE r.prrelid = c.oid AND p.pubname = ch.publication)
    LOOP
        EXECUTE format('ALTER PUBLICATION %I ADD TABLE ONLY %s', missing.publication, missing.spelled);
    END LOOP;
END
$$;
