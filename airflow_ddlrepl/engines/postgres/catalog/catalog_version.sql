-- One text that changes with every committed change of what tables look like: which rows the catalogs have, and which
-- transactions wrote them. Temporary tables don't count. Two dozen milliseconds where there are thousands of tables.
WITH space AS MATERIALIZED (
    SELECT oid, xmin FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'
),
relation AS MATERIALIZED (
    SELECT c.oid, c.xmin FROM pg_class c JOIN space n ON n.oid = c.relnamespace WHERE c.relkind <> 't'
),
written(catalog, key, version) AS (
    SELECT 1, oid::bigint, xmin FROM relation
    UNION ALL
    SELECT 2, a.attrelid::bigint << 16 | a.attnum, a.xmin
    FROM pg_attribute a JOIN relation r ON r.oid = a.attrelid WHERE a.attnum > 0
    UNION ALL
    SELECT 3, d.oid::bigint, d.xmin FROM pg_attrdef d JOIN relation r ON r.oid = d.adrelid
    UNION ALL
    SELECT 4, k.oid::bigint, k.xmin FROM pg_constraint k JOIN space n ON n.oid = k.connamespace
    UNION ALL
    SELECT 5, i.indexrelid::bigint, i.xmin FROM pg_index i JOIN relation r ON r.oid = i.indrelid
    UNION ALL
    SELECT 6, inhrelid::bigint << 32 | inhparent::bigint, xmin FROM pg_inherits
    UNION ALL
    SELECT 7, partrelid::bigint, xmin FROM pg_partitioned_table
    UNION ALL
    SELECT 8, t.oid::bigint, t.xmin FROM pg_type t JOIN space n ON n.oid = t.typnamespace
    UNION ALL
    SELECT 9, oid::bigint, xmin FROM pg_enum
    UNION ALL
    SELECT 10, rngtypid::bigint, xmin FROM pg_range
    UNION ALL
    SELECT 11, oid::bigint, xmin FROM space
    UNION ALL
    SELECT 12, oid::bigint, xmin FROM pg_proc
    UNION ALL
    SELECT 13, oid::bigint, xmin FROM pg_operator
    UNION ALL
    SELECT 14, oid::bigint, xmin FROM pg_collation
    UNION ALL
    SELECT 15, oid::bigint, xmin FROM pg_extension
    UNION ALL
    SELECT 16, objid::bigint << 32 | refobjid::bigint, xmin FROM pg_depend WHERE deptype = 'e'
)
SELECT concat_ws(' ', count(*), sum(hashint8extended(hashint8extended(key, catalog), version::text::bigint)), version())
FROM written
