# The usual way to drop a label: a new type, columns converted, the old one dropped.
-- old --
create type status as enum ('a', 'b', 'c');
create table t (id int primary key, s status not null default 'a');
insert into t values (1, 'b');
-- do --
alter type status rename to status_old;
create type status as enum ('a', 'b');
alter table t alter s drop default, alter s type status using s::text::status, alter s set default 'b';
drop type status_old;
-- spots --
rename_type public.status -> public.status_old
create_type enum public.status
change_default s 'a'::public.status_old -> none
change_type s public.status_old -> public.status (convert)
change_default s none -> 'b'::public.status
forget_type public.status_old
-- postgres --
DO $ddlrepl$ DECLARE there regtype := to_regtype('"public"."status_old"'); made record; BEGIN DROP TYPE IF EXISTS "public"."status_old"; EXCEPTION WHEN dependent_objects_still_exist THEN EXECUTE format('ALTER TYPE "public"."status_old" RENAME TO %I', 'status_old_kept_' || there::oid::text); FOR made IN SELECT 'TYPE' AS kind, rngmultitypid::regtype::text AS name, '_m' AS suffix FROM pg_range WHERE rngtypid = there UNION ALL SELECT 'FUNCTION', objid::regprocedure::text, '' FROM pg_range JOIN pg_depend ON refobjid IN (rngtypid, rngmultitypid) AND refclassid = 'pg_type'::regclass WHERE rngtypid = there AND classid = 'pg_proc'::regclass AND deptype = 'i' LOOP BEGIN EXECUTE format('ALTER %s %s RENAME TO %I', made.kind, made.name, 'status_old_kept_' || there::oid::text || made.suffix); EXCEPTION WHEN insufficient_privilege THEN NULL; END; END LOOP; END $ddlrepl$
ALTER TYPE "public"."status" RENAME TO "status_old"
DO $ddlrepl$ DECLARE there regtype := to_regtype('"public"."status"'); made record;…
DO $ddlrepl$ BEGIN CREATE TYPE "public"."status" AS ENUM ('a', 'b'); EXCEPTION WHEN duplicate_object THEN ALTER TYPE "public"."status" ADD VALUE IF NOT EXISTS 'b' AFTER 'a'; END $ddlrepl$
ALTER TABLE "public"."t" ALTER COLUMN "s" DROP DEFAULT
ALTER TABLE "public"."t" ALTER COLUMN "s" TYPE public.status USING "s"::text::public.status
ALTER TABLE "public"."t" ALTER COLUMN "s" SET DEFAULT 'b'::public.status
