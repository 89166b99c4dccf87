-- One table's shape as JSON, exactly as model.table.Table.from_json reads it; $1 is the table's oid.
-- Runs inside ddlrepl.table_shape (event triggers) and as a subquery (inspection), so both agree.
-- A REPEATABLE READ transaction sees a column or a type twice that others have altered before it did: the present
-- version comes last (its xmax is 0), and counts.
-- Expects SHAPE_SETTINGS of inspect.py: they decide how expressions and values are spelled.
SELECT jsonb_build_object(
    'id', c.oid::int8,
    'name', jsonb_build_array(n.nspname, c.relname),
    'identity', CASE c.relreplident WHEN 'f' THEN 'full' WHEN 'i' THEN 'index' WHEN 'n' THEN 'nothing' ELSE 'default' END,
    'unlogged', c.relpersistence = 'u',
    'storage', pg_relation_filenode(c.oid)::int8,
    'column_versions', (
        SELECT string_agg(v.attnum || ':' || v.xmin, ' ' ORDER BY v.attnum) FROM (
            SELECT DISTINCT ON (a.attnum) a.attnum, a.xmin FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum, a.xmax <> '0') v),
    'partition_key', CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END,
    'partition', (
        SELECT jsonb_build_object(
            'of', p.oid::int8,
            'of_name', jsonb_build_array(pn.nspname, p.relname),
            'bound', pg_get_expr(c.relpartbound, c.oid))
        FROM pg_inherits i
        JOIN pg_class p ON p.oid = i.inhparent
        JOIN pg_namespace pn ON pn.oid = p.relnamespace
        WHERE i.inhrelid = c.oid AND c.relispartition),
    'columns', (
        SELECT COALESCE(jsonb_agg(jsonb_build_object(
                'id', a.attnum,
                'name', a.attname,
                'type', jsonb_build_object(
                    'text', /*type_text(t, e, tn, a.atttypmod)*/,
                    'schema', tn.nspname,
                    'name', COALESCE(/*type_name(e)*/, /*type_name(t)*/),
                    'kind', CASE
                        WHEN e.oid IS NOT NULL THEN 'array'
                        WHEN t.typtype = 'e' THEN 'enum'
                        WHEN t.typtype = 'c' THEN 'composite'
                        WHEN t.typtype = 'd' THEN 'domain'
                        WHEN t.typtype = 'r' THEN 'range'
                        WHEN t.typtype = 'm' THEN 'multirange'
                        ELSE 'base' END,
                    'oid', t.oid::int8,
                    'typmod', a.atttypmod,
                    'extension', (
                        SELECT x.extname
                        FROM pg_depend dx
                        JOIN pg_extension x ON x.oid = dx.refobjid
                        WHERE dx.classid = 'pg_type'::regclass
                          AND dx.objid = COALESCE(e.oid, t.oid)
                          AND dx.refclassid = 'pg_extension'::regclass
                          AND dx.deptype = 'e')),
                'nullable', NOT a.attnotnull OR EXISTS (
                    SELECT FROM pg_constraint nn
                    WHERE nn.conrelid = c.oid AND nn.contype = 'n' AND NOT nn.convalidated AND nn.conkey = ARRAY[a.attnum]),
                'default', pg_get_expr(d.adbin, d.adrelid),
                'missing', CASE WHEN a.atthasmissing THEN array_to_string(a.attmissingval, '') END,
                'identity', CASE a.attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' ELSE '' END,
                'generated', CASE a.attgenerated WHEN 's' THEN 'stored' WHEN 'v' THEN 'virtual' ELSE '' END,
                'collation', CASE WHEN a.attcollation <> t.typcollation THEN (
                    SELECT quote_ident(cn.nspname) || '.' || quote_ident(co.collname)
                    FROM pg_collation co
                    JOIN pg_namespace cn ON cn.oid = co.collnamespace
                    WHERE co.oid = a.attcollation) END
            ) ORDER BY a.attnum, a.xmax = '0', t.xmax = '0'), '[]')
            FROM pg_attribute a
            JOIN pg_type t ON t.oid = a.atttypid
            LEFT JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid
            JOIN pg_namespace tn ON tn.oid = COALESCE(e.typnamespace, t.typnamespace)
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
/*types*/
    -- User-defined types that the columns use, directly or nested, what they are made of first.
    'types', (
        WITH RECURSIVE used(oid, depth) AS (
            SELECT a.atttypid, 0
            FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384
            UNION
            SELECT part.oid, used.depth + 1
            FROM used
            CROSS JOIN LATERAL (
                SELECT unnest(ARRAY[t.typelem, t.typbasetype]) FROM pg_type t WHERE t.oid = used.oid
                UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE r.rngtypid = used.oid
                UNION ALL SELECT r.rngtypid FROM pg_range r WHERE r.rngmultitypid = used.oid
                UNION ALL
                SELECT a.atttypid
                FROM pg_type t
                JOIN pg_attribute a ON a.attrelid = t.typrelid
                WHERE t.oid = used.oid AND t.typtype = 'c' AND a.attnum > 0 AND NOT a.attisdropped
            ) AS part(oid)
            WHERE part.oid >= 16384 AND used.depth < 30
        ),
        ordered AS (SELECT used.oid, max(used.depth) AS depth FROM used GROUP BY used.oid)
        SELECT COALESCE(jsonb_agg(jsonb_build_object(
            'oid', t.oid::int8,
            'schema', tn.nspname,
            'name', /*type_name(t)*/,
            'kind', CASE t.typtype WHEN 'e' THEN 'enum' WHEN 'c' THEN 'composite' WHEN 'd' THEN 'domain'
                WHEN 'm' THEN 'multirange' ELSE 'range' END,
            'labels', (
                SELECT COALESCE(jsonb_agg(l.enumlabel ORDER BY l.enumsortorder), '[]')
                FROM (
                    SELECT DISTINCT ON (l.oid) l.enumlabel, l.enumsortorder
                    FROM pg_enum l WHERE l.enumtypid = t.oid ORDER BY l.oid, l.xmax = '0' DESC) AS l),
            'attributes', (
                SELECT COALESCE(jsonb_agg(jsonb_build_object(
                    'id', a.attnum, 'name', a.attname, 'type',
                    /*type_text(p, e, pn, a.atttypmod)*/
                ) ORDER BY a.attnum, a.xmax = '0'), '[]')
                FROM pg_attribute a
                JOIN pg_type p ON p.oid = a.atttypid
                LEFT JOIN pg_type e ON e.oid = p.typelem AND e.typarray = p.oid
                JOIN pg_namespace pn ON pn.oid = COALESCE(e.typnamespace, p.typnamespace)
                WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped),
            'base', (
                SELECT /*type_text(p, e, pn, CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE -1 END)*/
                FROM pg_type p
                LEFT JOIN pg_type e ON e.oid = p.typelem AND e.typarray = p.oid
                JOIN pg_namespace pn ON pn.oid = COALESCE(e.typnamespace, p.typnamespace)
                WHERE p.oid = CASE t.typtype
                    WHEN 'd' THEN t.typbasetype WHEN 'r' THEN r.rngsubtype WHEN 'm' THEN r.rngtypid END),
            'constraints', (
                SELECT COALESCE(jsonb_agg(
                    jsonb_build_array(k.conname, pg_get_constraintdef(k.oid)) ORDER BY k.conname), '[]')
                FROM pg_constraint k WHERE k.contypid = t.oid AND k.contype = 'c'),
            'not_null', t.typnotnull,
            'default', pg_get_expr(t.typdefaultbin, 0),
            'collation', (
                SELECT quote_ident(cn.nspname) || '.' || quote_ident(co.collname)
                FROM pg_collation co
                JOIN pg_namespace cn ON cn.oid = co.collnamespace
                WHERE co.oid = CASE t.typtype WHEN 'd' THEN t.typcollation WHEN 'r' THEN r.rngcollation END
                  AND co.oid <> (SELECT b.typcollation FROM pg_type b WHERE b.oid = COALESCE(r.rngsubtype, t.typbasetype)))
        ) ORDER BY o.depth DESC, t.oid, t.xmax = '0'), '[]')
        FROM ordered o
        JOIN pg_type t ON t.oid = o.oid AND t.typtype IN ('e', 'c', 'd', 'r', 'm')
        JOIN pg_namespace tn ON tn.oid = t.typnamespace AND tn.nspname NOT IN ('pg_catalog', 'information_schema')
        LEFT JOIN pg_range r ON t.oid IN (r.rngtypid, r.rngmultitypid)
        WHERE NOT EXISTS (
            SELECT FROM pg_depend dx
            WHERE dx.classid = 'pg_type'::regclass AND dx.objid = t.oid AND dx.deptype = 'e')),
/*end of types*/
    'key', CASE WHEN chosen.indexrelid IS NOT NULL THEN jsonb_build_object(
        'columns', to_jsonb((chosen.indkey::int2[])[0:chosen.indnkeyatts - 1]),
        'name', chosen.relname,
        'is_primary', chosen.indisprimary) END,
    -- The primary key where another key, or none, is chosen: it can be made at a target as it is.
    'second_key', (
        SELECT jsonb_build_object(
            'columns', to_jsonb((i.indkey::int2[])[0:i.indnkeyatts - 1]),
            'name', k.conname,
            'is_primary', true,
            'deferrable', CASE WHEN NOT k.condeferrable THEN '' WHEN k.condeferred THEN 'deferred' ELSE 'immediate' END)
        FROM pg_index i
        JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = c.oid AND k.contype = 'p'
        WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid AND i.indexrelid IS DISTINCT FROM chosen.indexrelid
        ORDER BY i.indexrelid DESC
        LIMIT 1)
)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
-- The replica identity index, else the primary key, else a unique index of columns that are never null.
-- A deferrable key tells rows apart only at commit, a generated column is not in the log: neither is a key. Nor is an
-- index that calls values different which are equal for their type.
LEFT JOIN LATERAL (
    SELECT i.indexrelid, i.indkey, i.indnkeyatts, i.indisprimary, ic.relname
    FROM pg_index i
    JOIN pg_class ic ON ic.oid = i.indexrelid
    WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL
      AND (i.indisprimary OR NOT i.indisexclusion)
      AND NOT EXISTS (
          SELECT FROM pg_opclass oc
          WHERE oc.oid = ANY (i.indclass::oid[]) AND NOT oc.opcdefault
            AND (oc.oid >= 16384 OR oc.opcname = 'record_image_ops'))
      AND NOT EXISTS (
          SELECT FROM pg_attribute ka
          WHERE ka.attrelid = c.oid
            AND ka.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
            AND (ka.attgenerated <> '' OR NOT ka.attnotnull OR EXISTS (
                SELECT FROM pg_constraint nn
                WHERE nn.conrelid = c.oid AND nn.contype = 'n' AND NOT nn.convalidated
                  AND nn.conkey = ARRAY[ka.attnum])))
    ORDER BY (c.relreplident = 'i' AND i.indisreplident) DESC, i.indisprimary DESC, i.indnkeyatts, i.indexrelid
    LIMIT 1) AS chosen ON true
WHERE c.oid = $1 AND c.relkind IN ('r', 'p')
