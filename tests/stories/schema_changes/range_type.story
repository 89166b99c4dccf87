# A user-defined range and its multirange, which gets its name after the server has made it.
-- old --
create table t (id int primary key);
-- do --
create type span as range (subtype = float8, multirange_type_name = spans);
alter table t add column s span, add column m spans;
-- spots --
create_type range public.span
create_type multirange public.spans
add_column s public.span
add_column m public.spans
-- postgres --
DO $ddlrepl$ DECLARE there regtype := to_regtype('"public"."span"'); made record;…
DO $ddlrepl$ BEGIN CREATE TYPE "public"."span" AS RANGE (SUBTYPE = double precision); EXCEPTION WHEN duplicate_object OR duplicate_function THEN IF to_regtype('"public"."span"') IS NULL THEN BEGIN CREATE TYPE "public"."span" AS RANGE (SUBTYPE = double precision, MULTIRANGE_TYPE_NAME = "public"."span_multirange_…"); EXCEPTION WHEN duplicate_function THEN CREATE TYPE "public"."span_made_…" AS RANGE (SUBTYPE = double precision); ALTER TYPE "public"."span_made_…" RENAME TO "span"; END; END IF; END $ddlrepl$
DO $ddlrepl$ DECLARE there regtype := to_regtype('"public"."spans"'); made record;…
DO $ddlrepl$ BEGIN DECLARE made record; BEGIN FOR made IN SELECT t.oid, t.oid::regtype::text AS now, nspname FROM pg_range JOIN pg_type t ON t.oid = rngmultitypid JOIN pg_namespace n ON n.oid = typnamespace WHERE rngtypid = to_regtype('public.span') AND (nspname, typname) <> ('public', 'spans') LOOP EXECUTE format('ALTER TYPE %s RENAME TO %I', made.now, 'spans_kept_' || made.oid); IF made.nspname <> 'public' THEN EXECUTE format('ALTER TYPE %I.%I SET SCHEMA %I', made.nspname, 'spans_kept_' || made.oid, 'public'); END IF; EXECUTE format('ALTER TYPE %I.%I RENAME TO %I', 'public', 'spans_kept_' || made.oid, 'spans'); END LOOP; END; EXCEPTION WHEN duplicate_object THEN NULL; END $ddlrepl$
ALTER TABLE "public"."t" ADD COLUMN "s" public.span
ALTER TABLE "public"."t" ADD COLUMN "m" public.spans
