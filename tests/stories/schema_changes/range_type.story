# A user-defined range and its multirange.
-- old --
create table t (id int primary key);
-- do --
create type span as range (subtype = float8);
alter table t add column s span, add column m span_multirange;
-- spots --
create_type range public.span
add_column s public.span
add_column m public.span_multirange
-- postgres --
DO $ddlrepl$ BEGIN CREATE TYPE "public"."span" AS RANGE (SUBTYPE = double precision); EXCEPTION WHEN duplicate_object THEN NULL; END $ddlrepl$
ALTER TABLE "public"."t" ADD COLUMN "s" public.span
ALTER TABLE "public"."t" ADD COLUMN "m" public.span_multirange
