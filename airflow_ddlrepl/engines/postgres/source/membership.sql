-- Tables of one channel that need a hand, because no event trigger lent it: new ones that join by their name, and
-- published ones whose replica identity no longer lets the user's UPDATE and DELETE through, or tells too little.
SELECT c.oid::bigint
FROM ddlrepl.channel ch
CROSS JOIN pg_catalog.pg_class c
LEFT JOIN ddlrepl.member m ON m.channel = ch.name AND m.table_id = c.oid
WHERE ch.name = %s AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND c.oid >= 16384
  AND CASE
      WHEN m.state = 'published' AND c.relreplident <> 'f' AND ddlrepl.wants_whole_rows(ch, c.oid) THEN true
      WHEN m.state = 'published' THEN CASE c.relreplident
          WHEN 'd' THEN NOT EXISTS (
              SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indimmediate)
          WHEN 'i' THEN NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisreplident)
          WHEN 'f' THEN pg_catalog.current_setting('server_version_num')::int >= 180000 AND EXISTS (
              SELECT FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_publication p ON p.pubname = ch.publication
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> ''
                AND NOT (a.attgenerated = 's' AND pg_catalog.to_jsonb(p) ->> 'pubgencols' = 's'))
          ELSE true END
      WHEN m.state = 'tracked' THEN false
      ELSE ddlrepl.belongs(ch, c.oid) END
ORDER BY c.relispartition, c.oid
