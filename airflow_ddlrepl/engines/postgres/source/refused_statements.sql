-- Tables of a publication of which the server refuses the application's own UPDATE and DELETE, and why.
WITH p AS (
    SELECT oid, pubupdate, pubdelete, coalesce(to_jsonb(q) ->> 'pubgencols' = 's', false) AS has_generated
    FROM pg_catalog.pg_publication q WHERE pubname = %s AND (pubupdate OR pubdelete)
),
t AS (
    SELECT c.oid, n.nspname, c.relname, c.relreplident, p.has_generated, r.oid AS entry, r.prattrs,
        (SELECT i.indkey::int2[] FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
         AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END) AS key
    FROM p
    CROSS JOIN pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = c.oid
    WHERE c.oid = ANY (%s::bigint[]::oid[])
)
SELECT t.nspname, t.relname, CASE
    WHEN t.relreplident <> 'f' AND t.key IS NULL THEN 'it has no replica identity and is published'
    WHEN EXISTS (SELECT FROM pg_catalog.pg_depend d
                 WHERE d.classid = 'pg_catalog.pg_publication_rel'::regclass AND d.objid = t.entry AND d.refobjsubid > 0
                   AND d.refobjid = t.oid AND t.relreplident <> 'f' AND d.refobjsubid <> ALL (t.key)
                   AND (t.prattrs IS NULL OR d.refobjsubid <> ALL (t.prattrs::int2[])))
        THEN 'the publication filters its rows by columns that its replica identity lacks'
    WHEN t.prattrs IS NOT NULL AND (t.relreplident = 'f' OR NOT t.key <@ t.prattrs::int2[])
        THEN 'the publication leaves out columns of its replica identity'
    WHEN current_setting('server_version_num')::int >= 180000 AND EXISTS (
            SELECT FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> ''
              AND (t.relreplident = 'f' OR a.attnum = ANY (t.key)) AND NOT (a.attgenerated = 's' AND t.has_generated))
        THEN 'the publication leaves out generated columns of its replica identity'
    END AS why
FROM t
