-- What a publication publishes, by table: through which entries, and what its own entry leaves out. Rows are published as
-- a partition's own, so that only an entry of its own filters them; an entry for a schema or for all tables filters nothing.
WITH RECURSIVE p AS (
    SELECT oid, puballtables FROM pg_catalog.pg_publication WHERE pubname = %s
),
listed(id, entry, is_whole) AS (
    SELECT r.prrelid, r.oid::text, false FROM p JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid
    UNION ALL
    SELECT c.oid, n.oid::text, true FROM p JOIN pg_catalog.pg_publication_namespace n ON n.pnpubid = p.oid
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.pnnspid
    UNION ALL
    SELECT c.oid, p.oid::text, true FROM p JOIN pg_catalog.pg_class c ON p.puballtables
    UNION
    SELECT i.inhrelid, l.entry, l.is_whole FROM listed l JOIN pg_catalog.pg_inherits i ON i.inhparent = l.id
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND c.relispartition
)
SELECT c.oid::bigint, pg_catalog.string_agg(DISTINCT l.entry, ' ' ORDER BY l.entry),
    CASE WHEN NOT pg_catalog.bool_or(l.is_whole) THEN pg_catalog.concat_ws(' and ',
        CASE WHEN r.prqual IS NOT NULL THEN
            'its publication leaves out rows: WHERE ' || pg_catalog.pg_get_expr(r.prqual, r.prrelid) END,
        'its publication leaves out columns: ' || (
            SELECT pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attnum) FROM pg_catalog.pg_attribute a
            WHERE r.prattrs IS NOT NULL AND a.attrelid = r.prrelid AND a.attnum > 0 AND NOT a.attisdropped
              AND a.attgenerated = '' AND a.attnum <> ALL (r.prattrs))) END
FROM listed l
JOIN pg_catalog.pg_class c ON c.oid = l.id
LEFT JOIN (pg_catalog.pg_publication_rel r JOIN p ON p.oid = r.prpubid) ON r.prrelid = c.oid
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND c.oid >= 16384
GROUP BY c.oid, r.prqual, r.prattrs, r.prrelid
