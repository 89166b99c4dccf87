# A type under another name and in another schema; columns keep their values.
-- old --
create schema shop;
create type "Mood" as enum ('ok');
create domain moods as "Mood"[];
create table t (id int primary key, m "Mood", l moods);
insert into t values (1, 'ok', '{ok}');
-- do --
alter type "Mood" rename to feeling;
alter type feeling set schema shop;
-- spots --
rename_type public.Mood -> public.feeling
rename_type public.feeling -> shop.feeling
-- postgres --
DO $ddlrepl$ DECLARE there regtype := to_regtype('"public"."feeling"'); made record; BEGIN DROP TYPE IF EXISTS "public"."feeling"; EXCEPTION WHEN dependent_objects_still_exist THEN EXECUTE format('ALTER TYPE "public"."feeling" RENAME TO %I', 'feeling_kept_' || there::oid::text); FOR made IN SELECT 'TYPE' AS kind, rngmultitypid::regtype::text AS name, '_m' AS suffix FROM pg_range WHERE rngtypid = there UNION ALL SELECT 'FUNCTION', objid::regprocedure::text, '' FROM pg_range JOIN pg_depend ON refobjid IN (rngtypid, rngmultitypid) AND refclassid = 'pg_type'::regclass WHERE rngtypid = there AND classid = 'pg_proc'::regclass AND deptype = 'i' LOOP BEGIN EXECUTE format('ALTER %s %s RENAME TO %I', made.kind, made.name, 'feeling_kept_' || there::oid::text || made.suffix); EXCEPTION WHEN insufficient_privilege THEN NULL; END; END LOOP; END $ddlrepl$
ALTER TYPE "public"."Mood" RENAME TO "feeling"
DO $ddlrepl$ DECLARE there regtype := to_regtype('"shop"."feeling"'); made record; BEGIN DROP TYPE IF EXISTS "shop"."feeling"; EXCEPTION WHEN dependent_objects_still_exist THEN EXECUTE format('ALTER TYPE "shop"."feeling" RENAME TO %I', 'feeling_kept_' || there::oid::text); FOR made IN SELECT 'TYPE' AS kind, rngmultitypid::regtype::text AS name, '_m' AS suffix FROM pg_range WHERE rngtypid = there UNION ALL SELECT 'FUNCTION', objid::regprocedure::text, '' FROM pg_range JOIN pg_depend ON refobjid IN (rngtypid, rngmultitypid) AND refclassid = 'pg_type'::regclass WHERE rngtypid = there AND classid = 'pg_proc'::regclass AND deptype = 'i' LOOP BEGIN EXECUTE format('ALTER %s %s RENAME TO %I', made.kind, made.name, 'feeling_kept_' || there::oid::text || made.suffix); EXCEPTION WHEN insufficient_privilege THEN NULL; END; END LOOP; END $ddlrepl$
DO $ddlrepl$ BEGIN IF to_regnamespace('"shop"') IS NULL THEN CREATE SCHEMA "shop"; END IF; END $ddlrepl$
ALTER TYPE "public"."feeling" SET SCHEMA "shop"
