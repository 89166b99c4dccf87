-- What captures the rows of some tables by triggers now, one row for each table and each partition of it at any depth.
-- Versions are those of rows of the catalog: any ALTER changes them, also one that is taken back. No table is locked.
WITH RECURSIVE f AS (
    SELECT p.oid, CASE WHEN pg_catalog.obj_description(p.oid, 'pg_proc') = p.xmin::text THEN 'ours'
        ELSE p.oid || '/' || p.xmin END AS version
    FROM pg_catalog.pg_proc p
    WHERE p.pronamespace = pg_catalog.to_regnamespace('ddlrepl') AND p.proname = %(function)s AND p.pronargs = 0
),
wanted AS (
    SELECT c.oid, n.nspname, c.relname, ARRAY[
        ARRAY[y.oid || '/' || y.xmin, pg_catalog.concat_ws(' ', y.typowner, y.typacl)],
        ARRAY[n.oid || '/' || n.xmin, pg_catalog.concat_ws(' ', n.nspowner, n.nspacl)]] AS name
    FROM unnest(%(schemas)s::text[], %(tables)s::text[]) AS asked(schema_name, table_name)
    JOIN pg_catalog.pg_namespace n ON n.nspname = asked.schema_name
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = asked.table_name AND c.relkind IN ('r', 'p')
    JOIN pg_catalog.pg_type y ON y.oid = c.reltype
),
parts(root, oid, xmins, is_attached) AS (
    SELECT w.oid, w.oid, '{}'::text[], false FROM wanted w
    UNION ALL
    -- CREATE TABLE .. PARTITION OF makes the columns before it makes a partition of them. ATTACH writes them again.
    SELECT p.root, i.inhrelid, p.xmins || i.xmin::text, p.is_attached OR NOT EXISTS (
        SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.inhrelid AND a.attnum > 0
          AND a.xmin = i.xmin AND a.cmin::text::bigint < i.cmin::text::bigint)
    FROM parts p
    JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid AND NOT i.inhdetachpending
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND c.relispartition AND c.relkind IN ('r', 'p')
)
SELECT w.nspname, w.relname, w.oid::bigint, w.name, coalesce((SELECT f.version FROM f), ''), c.oid::bigint,
    n.nspname || '.' || c.relname, p.is_attached AND c.relkind = 'r', c.relfilenode <> c.oid AND c.relkind = 'r',
    coalesce(t.rows, ''), coalesce(t.truncation, ''), t.is_right IS TRUE, t.is_single IS TRUE,
    ARRAY(SELECT t.id || '/' || x FROM unnest(p.xmins) x)
FROM parts p
JOIN wanted w ON w.oid = p.root
JOIN pg_catalog.pg_class c ON c.oid = p.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN LATERAL (
    SELECT pg_catalog.min(t.oid::bigint) FILTER (WHERE t.tgtype & 1 = 1) AS id,
        pg_catalog.string_agg(t.oid || '/' || t.xmin, ' ' ORDER BY t.oid) FILTER (WHERE t.tgtype & 1 = 1) AS rows,
        pg_catalog.string_agg(t.oid || '/' || t.xmin, ' ' ORDER BY t.oid) FILTER (WHERE t.tgtype & 1 = 0) AS truncation,
        pg_catalog.bool_and(/*is_right*/) AS is_right,
        pg_catalog.count(*) FILTER (WHERE t.tgtype & 1 = 1) = 1 AS is_single
    FROM pg_catalog.pg_trigger t JOIN f ON f.oid = t.tgfoid WHERE t.tgrelid = c.oid
) t ON true
ORDER BY w.nspname, w.relname, c.oid
