-- What the reading role may call instead of holding a right itself: check our signatures, hold tables for its queries.

-- The key is hidden from whoever may read every table (pg_read_all_data), too: no policy shows its row to anybody.
ALTER TABLE ddlrepl.signature ENABLE ROW LEVEL SECURITY;
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN
        SELECT DISTINCT a.grantee FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
        WHERE c.oid = 'ddlrepl.signature'::pg_catalog.regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON ddlrepl.signature FROM %s',
            CASE WHEN granted.grantee = 0 THEN 'PUBLIC' ELSE granted.grantee::pg_catalog.regrole::text END);
    END LOOP;
END
$$;

-- Is each of these messages, without its signature, signed with our key? See ddlrepl.signed.
CREATE OR REPLACE FUNCTION ddlrepl.verified(bodies bytea[], marks text[]) RETURNS boolean[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(encode(sha256(s.key || sha256(s.key || m.body)), 'hex') = m.mark ORDER BY m.place), '{}')
    FROM ddlrepl.signature s, ROWS FROM (unnest(bodies), unnest(marks)) WITH ORDINALITY AS m(body, mark, place)
$$;

-- Does planning a query over the table run code of somebody who is no superuser: functions of its index expressions, of
-- the predicates of its indexes, of its statistics on expressions; or reading one of its columns, by a cast?
CREATE OR REPLACE FUNCTION ddlrepl.runs_code(id oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE others AS (
        SELECT p.oid FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner WHERE p.oid >= 16384 AND NOT r.rolsuper
    ),
    planned AS (
        SELECT d.refclassid, d.refobjid FROM pg_index i
        JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
        WHERE i.indrelid = $1 AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
        UNION ALL
        SELECT d.refclassid, d.refobjid FROM pg_statistic_ext s
        JOIN pg_depend d ON d.classid = 'pg_statistic_ext'::regclass AND d.objid = s.oid
        WHERE s.stxrelid = $1 AND s.stxexprs IS NOT NULL
    ),
    used(type) AS (
        SELECT a.atttypid FROM pg_attribute a
        WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384
        UNION
        SELECT part.type FROM used u JOIN pg_type t ON t.oid = u.type
        CROSS JOIN LATERAL (
            SELECT unnest(ARRAY[t.typelem, t.typbasetype]) UNION ALL
            SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
        ) AS part(type)
        WHERE part.type >= 16384
    )
    SELECT EXISTS (SELECT FROM planned p WHERE p.refclassid = 'pg_proc'::regclass AND p.refobjid IN (TABLE others))
        OR EXISTS (SELECT FROM planned p JOIN pg_operator o ON o.oid = p.refobjid JOIN pg_roles r ON r.oid = o.oprowner
                   WHERE p.refclassid = 'pg_operator'::regclass AND o.oid >= 16384
                     AND (NOT r.rolsuper OR o.oprcode IN (TABLE others) OR o.oprrest IN (TABLE others)))
        OR EXISTS (SELECT FROM planned p JOIN pg_type t ON t.oid = p.refobjid JOIN pg_roles r ON r.oid = t.typowner
                   WHERE p.refclassid = 'pg_type'::regclass AND t.oid >= 16384 AND t.typtype <> 'e' AND NOT r.rolsuper)
        OR EXISTS (SELECT FROM used u JOIN pg_cast c ON c.castsource = u.type WHERE c.castfunc IN (TABLE others))
$$;

-- Holds tables until the transaction ends, so that nobody can give them an index or statistics meanwhile: writers of
-- rows go on. Returns those that a query may read: planning it runs nobody's code. The others are not held.
-- Each statement in it sees what the one before has waited for: not for a transaction with one snapshot.
CREATE OR REPLACE FUNCTION ddlrepl.hold_for_queries(ids oid[]) RETURNS SETOF oid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1500ms' AS $$
DECLARE
    id oid;
    spelled text;
    patience timestamptz := clock_timestamp() + interval '5 seconds';
BEGIN
    IF NOT (SELECT r.rolreplication OR r.rolsuper FROM pg_roles r WHERE r.rolname = session_user) THEN
        RAISE insufficient_privilege USING MESSAGE = 'only a role that may replicate holds tables';
    END IF;
    FOREACH id IN ARRAY ids LOOP
        BEGIN
            SELECT format('%I.%I', n.nspname, c.relname) INTO STRICT spelled
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = id AND c.relkind = 'r' AND has_table_privilege(session_user, c.oid, 'SELECT');
            EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE%s', spelled,
                CASE WHEN clock_timestamp() > patience THEN ' NOWAIT' ELSE '' END);
            IF to_regclass(spelled) IS DISTINCT FROM id OR ddlrepl.runs_code(id) THEN
                RAISE no_data_found;
            END IF;
            RETURN NEXT id;
        EXCEPTION WHEN no_data_found OR lock_not_available OR undefined_table OR insufficient_privilege THEN
            NULL;
        END;
    END LOOP;
END
$$;
