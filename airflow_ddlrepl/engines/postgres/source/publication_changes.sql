-- ALTER, DROP and CREATE PUBLICATION by anybody but us: which tables of channels lack rows in the log since then. Their
-- record has them as `filled`, so that they are loaded again. A cycle also compares what is published with what the last
-- one found; it trusts that options were never wrong in between where the newest version of the publication is the one
-- that was recorded here.
ALTER TABLE ddlrepl.channel ADD COLUMN IF NOT EXISTS publication_version text;

-- The tables of a channel that the statement keeps out of the log, or brings back into it. at_end: is it the end of a
-- statement, which tells its objects?
CREATE OR REPLACE FUNCTION ddlrepl.unpublished(ch ddlrepl.channel, at_end boolean) RETURNS oid[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p pg_publication;
    touched oid[] := '{}';
    is_altered boolean := false;
    is_wrong boolean;
BEGIN
    SELECT * INTO p FROM pg_publication q WHERE q.pubname = ch.publication;
    is_wrong := p.oid IS NULL OR NOT (p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate) OR p.pubviaroot;
    IF at_end THEN
        SELECT coalesce(bool_or(c.classid = 'pg_publication'::regclass), false),
            coalesce(array_agg(r.prrelid) FILTER (WHERE r.prpubid = p.oid), '{}')
        INTO is_altered, touched
        FROM pg_event_trigger_ddl_commands() c
        LEFT JOIN pg_publication_rel r ON c.classid = 'pg_publication_rel'::regclass AND r.oid = c.objid
        WHERE c.classid <> 'pg_publication'::regclass OR c.objid = p.oid OR p.oid IS NULL;
    END IF;
    RETURN ARRAY(
        SELECT m.table_id FROM ddlrepl.member m
        WHERE m.channel = ch.name AND m.state = 'published' AND (
            is_altered AND is_wrong OR m.table_id = ANY (touched) OR p.oid IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_publication_rel r
                WHERE r.prpubid = p.oid AND r.prrelid = m.table_id AND r.prqual IS NULL AND (r.prattrs IS NULL OR NOT EXISTS (
                    SELECT FROM pg_attribute a WHERE a.attrelid = r.prrelid AND a.attnum > 0 AND NOT a.attisdropped
                      AND a.attgenerated = '' AND a.attnum <> ALL (r.prattrs)))))
        ORDER BY 1);
END
$$;

CREATE OR REPLACE FUNCTION ddlrepl.record_publication(
    tag text, context text, query text, settings jsonb, at_end boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    ch ddlrepl.channel;
    found oid[] := '{}';
    is_ours boolean := ddlrepl.is_own(ddlrepl.states());
BEGIN
    FOR ch IN SELECT * FROM ddlrepl.channel ORDER BY name LOOP
        IF NOT is_ours THEN
            found := found || ddlrepl.unpublished(ch, at_end);
        END IF;
        UPDATE ddlrepl.channel c SET publication_version = p.oid || '/' || p.xmin FROM pg_publication p
        WHERE at_end AND c.name = ch.name AND p.pubname = c.publication
          AND c.publication_version IS DISTINCT FROM p.oid || '/' || p.xmin;
    END LOOP;
    IF found <> '{}' THEN
        PERFORM pg_logical_emit_message(true, 'ddlrepl', ddlrepl.signed(ddlrepl.as_utf8(jsonb_build_object(
            'v', 1, 'kind', 'ddl', 'tag', tag, 'statement', NULL, 'query', ddlrepl.without_passwords(query),
            'settings', settings || jsonb_build_object('tag', ddlrepl.session_tag()), 'before', '[]'::jsonb, 'dropped', '[]'::jsonb, 'rewritten', '[]'::jsonb,
            'tables', (SELECT coalesce(jsonb_agg(s.shape), '[]')
                       FROM (SELECT DISTINCT t.id FROM unnest(found) t(id)) t
                       CROSS JOIN LATERAL ddlrepl.table_shape(t.id) s(shape)
                       WHERE s.shape IS NOT NULL AND ddlrepl.is_utf8(s.shape::text)),
            'filled', (SELECT jsonb_agg(DISTINCT t.id::int8) FROM unnest(found) t(id))))));
        PERFORM setval('ddlrepl.fence', 1);
    END IF;
END
$$;
