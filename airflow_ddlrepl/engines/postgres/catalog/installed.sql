-- What our helper schema consists of now: name, digest of what it does, and the version of its row in the catalog, which
-- any ALTER changes, also one that is taken back. GRANTs to single roles are the administrator's business, to all are not.
SELECT 'function ddlrepl.' || p.proname || '(' || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')' AS name,
    pg_catalog.left(pg_catalog.md5(pg_catalog.concat_ws(E'\n', p.prosrc, p.proconfig::text, p.prosecdef, p.provolatile,
        p.proleakproof, l.lanname, p.prorettype::pg_catalog.regtype, p.proretset, pg_catalog.pg_get_userbyid(p.proowner),
        (SELECT pg_catalog.count(*) FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
         WHERE a.grantee = 0))), 10) AS digest,
    p.oid || '/' || p.xmin AS version
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = pg_catalog.to_regnamespace('ddlrepl') AND p.proname NOT LIKE 'sync\_capture\_%'
UNION ALL
SELECT 'event trigger ' || e.evtname,
    pg_catalog.left(pg_catalog.md5(pg_catalog.concat_ws(E'\n', e.evtevent, e.evtenabled, e.evttags::text,
        pg_catalog.pg_get_userbyid(e.evtowner), e.evtfoid::pg_catalog.regprocedure)), 10),
    e.oid || '/' || e.xmin
FROM pg_catalog.pg_event_trigger e
WHERE e.evtname LIKE 'ddlrepl\_%'
UNION ALL
SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'table' END || ' ddlrepl.' || c.relname,
    pg_catalog.left(pg_catalog.md5(pg_catalog.concat_ws(E'\n', pg_catalog.pg_get_userbyid(c.relowner), c.relrowsecurity,
        c.relhasrules, (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid),
        (SELECT pg_catalog.count(*) FROM pg_catalog.aclexplode(c.relacl) a WHERE a.grantee = 0))), 10),
    c.oid::text
FROM pg_catalog.pg_class c
WHERE c.relnamespace = pg_catalog.to_regnamespace('ddlrepl') AND c.relname IN
    ('channel', 'member', 'signature', 'fence', 'message', 'state_number')
UNION ALL
SELECT 'trigger ' || t.tgname || ' of ddlrepl.' || c.relname,
    pg_catalog.left(pg_catalog.md5(pg_catalog.concat_ws(E'\n', t.tgenabled, t.tgtype, t.tgattr, t.tgqual IS NULL,
        t.tgfoid::pg_catalog.regprocedure)), 10),
    t.oid || '/' || t.xmin
FROM pg_catalog.pg_trigger t
JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = pg_catalog.to_regnamespace('ddlrepl') AND c.relname IN ('message', 'mark') AND NOT t.tgisinternal
