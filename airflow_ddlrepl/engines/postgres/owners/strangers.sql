WITH RECURSIVE me AS (
    SELECT oid, rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user
),
-- Whoever is not one of these is a stranger: a superuser (for a superuser no other role), the database's owner, the role
-- itself and roles whose rights it has anyway, and those that somebody trusts by name.
stranger AS (
    SELECT r.oid, r.rolname FROM pg_catalog.pg_roles r CROSS JOIN me
    WHERE NOT r.rolsuper AND r.oid <> me.oid AND r.rolname <> 'pg_database_owner'
      AND r.oid <> (SELECT datdba FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
      AND (me.rolsuper OR NOT pg_catalog.pg_has_role(current_user, r.oid, 'USAGE'))
      AND r.rolname <> ALL (%(trusted)s::pg_catalog.name[])
),
used AS (
    SELECT DISTINCT u.schema, u.name, u.type_schema, u.type_name
    FROM ROWS FROM (pg_catalog.unnest(%(schemas)s::text[]), pg_catalog.unnest(%(names)s::text[]),
                    pg_catalog.unnest(%(type_schemas)s::text[]), pg_catalog.unnest(%(type_names)s::text[]))
         AS u(schema, name, type_schema, type_name)
),
wanted AS (SELECT DISTINCT schema, name FROM used),
there AS (
    SELECT w.schema, w.name, c.oid, c.relowner, c.relkind, c.relhastriggers, c.relhassubclass
    FROM wanted w JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
),
-- What is written to a table goes to its partitions, and a partition gets the indexes of what it is a partition of.
child AS (
    SELECT t.schema, t.name, i.inhrelid AS oid FROM there t
    JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid WHERE t.relhassubclass
    UNION
    SELECT c.schema, c.name, i.inhrelid FROM child c JOIN pg_catalog.pg_inherits i ON i.inhparent = c.oid
),
parent AS (
    SELECT t.schema, t.name, i.inhparent AS oid FROM there t
    JOIN pg_catalog.pg_inherits i ON i.inhrelid = t.oid WHERE t.relkind <> 'S'
    UNION
    SELECT p.schema, p.name, i.inhparent FROM parent p JOIN pg_catalog.pg_inherits i ON i.inhrelid = p.oid
),
kin AS (
    SELECT k.schema, k.name, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) AS what,
        c.oid, c.relowner, c.relkind, c.relhastriggers
    FROM (SELECT schema, name, oid FROM child UNION SELECT schema, name, oid FROM parent) k
    JOIN pg_catalog.pg_class c ON c.oid = k.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    UNION ALL
    SELECT t.schema, t.name, pg_catalog.quote_ident(t.schema) || '.' || pg_catalog.quote_ident(t.name),
        t.oid, t.relowner, t.relkind, t.relhastriggers
    FROM there t
),
type_of AS (
    SELECT a.atttypid AS oid, t.schema, t.name FROM there t
    JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND a.atttypid >= 16384
    UNION
    SELECT y.oid, u.schema, u.name FROM used u JOIN pg_catalog.pg_namespace n ON n.nspname = u.type_schema
    JOIN pg_catalog.pg_type y ON y.typnamespace = n.oid AND y.typname = u.type_name
    UNION
    SELECT below.oid, t.schema, t.name FROM type_of t JOIN pg_catalog.pg_type y ON y.oid = t.oid
    CROSS JOIN LATERAL (
        SELECT y.typbasetype UNION ALL SELECT y.typelem
        UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE y.oid IN (r.rngtypid, r.rngmultitypid)
        UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = y.typrelid AND a.attnum > 0
    ) AS below(oid)
    WHERE below.oid >= 16384
),
-- What runs when rows are written: expressions of indexes, checks, defaults, rules, policies, partition keys and domains,
-- and triggers that fire.
fires AS (
    SELECT t.schema, t.name, g.oid, g.tgfoid
    FROM kin t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
    WHERE t.relhastriggers AND (g.tgenabled = 'A' OR g.tgenabled = CASE
        WHEN pg_catalog.has_parameter_privilege('session_replication_role', 'SET') THEN 'R' ELSE 'O' END)
),
runs AS (
    SELECT t.schema, t.name, 'pg_catalog.pg_class'::pg_catalog.regclass AS of, i.indexrelid AS oid
    FROM kin t JOIN pg_catalog.pg_index i ON i.indrelid = t.oid
    UNION ALL
    SELECT t.schema, t.name, 'pg_catalog.pg_class'::pg_catalog.regclass, t.oid FROM kin t WHERE t.relkind = 'p'
    UNION ALL
    SELECT t.schema, t.name, 'pg_catalog.pg_constraint'::pg_catalog.regclass, c.oid
    FROM kin t JOIN pg_catalog.pg_constraint c ON c.conrelid = t.oid AND c.contype IN ('c', 'x')
    UNION ALL
    SELECT t.schema, t.name, 'pg_catalog.pg_constraint'::pg_catalog.regclass, c.oid
    FROM type_of t JOIN pg_catalog.pg_constraint c ON c.contypid = t.oid
    UNION ALL
    SELECT t.schema, t.name, 'pg_catalog.pg_attrdef'::pg_catalog.regclass, d.oid
    FROM kin t JOIN pg_catalog.pg_attrdef d ON d.adrelid = t.oid
    UNION ALL
    SELECT t.schema, t.name, 'pg_catalog.pg_rewrite'::pg_catalog.regclass, r.oid
    FROM kin t JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid WHERE t.relkind IN ('r', 'p')
    UNION ALL
    SELECT t.schema, t.name, 'pg_catalog.pg_policy'::pg_catalog.regclass, p.oid
    FROM kin t JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid
    UNION ALL
    SELECT f.schema, f.name, 'pg_catalog.pg_trigger'::pg_catalog.regclass, f.oid FROM fires f
),
called AS (
    SELECT f.schema, f.name, f.tgfoid AS oid FROM fires f
    UNION
    SELECT r.schema, r.name, coalesce(o.oprcode, d.refobjid) FROM runs r
    JOIN pg_catalog.pg_depend d ON d.classid = r.of AND d.objid = r.oid AND d.refclassid IN
        ('pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass)
    LEFT JOIN pg_catalog.pg_operator o
        ON d.refclassid = 'pg_catalog.pg_operator'::pg_catalog.regclass AND o.oid = d.refobjid
),
found AS (
    SELECT t.schema, t.name, CASE t.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, t.what, t.relowner AS owner
    FROM kin t
    UNION ALL
    SELECT w.schema, w.name, 'SCHEMA', pg_catalog.quote_ident(n.nspname), n.nspowner
    FROM wanted w JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
    UNION ALL
    SELECT t.schema, t.name, 'TYPE', pg_catalog.format_type(y.oid, NULL), y.typowner
    FROM type_of t JOIN pg_catalog.pg_type y ON y.oid = t.oid
    UNION ALL
    SELECT c.schema, c.name, 'FUNCTION', p.oid::pg_catalog.regprocedure::text, p.proowner
    FROM called c JOIN pg_catalog.pg_proc p ON p.oid = c.oid
)
SELECT f.schema, f.name, f.kind, f.what, s.rolname, pg_catalog.quote_ident(current_user)
FROM found f JOIN stranger s ON s.oid = f.owner
ORDER BY f.schema, f.name, f.kind = 'TABLE' DESC, f.kind, f.what
