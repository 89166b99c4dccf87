-- Which tables a statement may have changed, by the objects that it was about.

-- Tables whose shape may depend on this object, a partitioned table before its partitions. Most objects have a table at
-- most, which stands for itself: the query of the others is a long one to plan.
CREATE OR REPLACE FUNCTION ddlrepl.affected(object_class oid, object_id oid) RETURNS SETOF oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tables oid[];
    has_others boolean := object_class IN ('pg_type'::regclass, 'pg_namespace'::regclass, 'pg_extension'::regclass);
BEGIN
    IF NOT has_others THEN
        SELECT array_agg(DISTINCT c.oid) FILTER (WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'),
            coalesce(bool_or(c.relhassubclass), object_class = 'pg_constraint'::regclass)   -- or a domain's
        INTO tables, has_others
        FROM (
            SELECT object_id WHERE object_class = 'pg_class'::regclass
            UNION ALL
            SELECT i.indrelid FROM pg_index i WHERE object_class = 'pg_class'::regclass AND i.indexrelid = object_id
            UNION ALL
            SELECT k.conrelid FROM pg_constraint k WHERE object_class = 'pg_constraint'::regclass AND k.oid = object_id
            UNION ALL
            SELECT f.adrelid FROM pg_depend d JOIN pg_attrdef f ON f.oid = d.objid
            WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = object_class AND d.refobjid = object_id
        ) direct(id)
        JOIN pg_class c ON c.oid = direct.id;
    END IF;
    IF NOT has_others AND object_class = 'pg_class'::regclass THEN   -- does anything have its row type?
        has_others := EXISTS (
            SELECT FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
            JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)
            WHERE c.oid = object_id AND (
                d.classid = 'pg_class'::regclass OR d.classid = 'pg_type'::regclass AND d.objid <> t.typarray));
    END IF;
    IF has_others THEN
        RETURN QUERY SELECT * FROM ddlrepl.affected_by_types(object_class, object_id);
    ELSE
        RETURN QUERY SELECT unnest(tables);
    END IF;
END
$$;

-- The same for any object. It always starts from few rows, which the planner can't know: hence no hash joins over whole
-- catalogs.
CREATE OR REPLACE FUNCTION ddlrepl.affected_by_types(object_class oid, object_id oid) RETURNS SETOF oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH RECURSIVE
    types(oid) AS (
        SELECT object_id WHERE object_class = 'pg_type'::regclass
        UNION
        SELECT reltype FROM pg_class
        WHERE object_class = 'pg_class'::regclass AND oid = object_id AND relkind IN ('c', 'r', 'p', 'v', 'm', 'f')
        UNION
        SELECT contypid FROM pg_constraint
        WHERE object_class = 'pg_constraint'::regclass AND oid = object_id AND contypid <> 0
        UNION
        SELECT oid FROM pg_type WHERE object_class = 'pg_namespace'::regclass AND typnamespace = object_id
        UNION
        SELECT objid FROM pg_depend
        WHERE object_class = 'pg_extension'::regclass AND refclassid = object_class AND refobjid = object_id
          AND classid = 'pg_type'::regclass AND deptype = 'e'
        UNION
        SELECT made.oid FROM types
        CROSS JOIN LATERAL (
            SELECT CASE d.classid WHEN 'pg_type'::regclass THEN d.objid ELSE c.reltype END
            FROM pg_depend d
            LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind IN ('c', 'r', 'p', 'v', 'm', 'f')
            WHERE d.refclassid = 'pg_type'::regclass AND d.refobjid = types.oid
        ) made(oid)
        WHERE made.oid <> 0
    ),
    direct(oid, depth) AS (
        SELECT object_id, 0 WHERE object_class = 'pg_class'::regclass
        UNION
        SELECT indrelid, 0 FROM pg_index WHERE object_class = 'pg_class'::regclass AND indexrelid = object_id
        UNION
        SELECT conrelid, 0 FROM pg_constraint
        WHERE object_class = 'pg_constraint'::regclass AND oid = object_id AND conrelid <> 0
        UNION
        SELECT oid, 0 FROM pg_class WHERE object_class = 'pg_namespace'::regclass AND relnamespace = object_id
        UNION
        -- By a column, or the whole table: CREATE TABLE .. OF the type.
        SELECT d.objid, 0 FROM types JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid = types.oid
        WHERE d.classid = 'pg_class'::regclass
        UNION
        SELECT f.adrelid, 0 FROM pg_depend d JOIN pg_attrdef f ON f.oid = d.objid
        WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = object_class AND d.refobjid = object_id
        UNION
        SELECT i.inhrelid, direct.depth + 1 FROM direct JOIN pg_inherits i ON i.inhparent = direct.oid
    )
    SELECT c.oid FROM direct d JOIN pg_class c ON c.oid = d.oid
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
    GROUP BY c.oid ORDER BY max(d.depth), c.oid;
END
$$;
