# Two tables share a type: it is altered once, and the other table's plan finds it done.
-- old --
create type status as enum ('a');
create table t (id int primary key, s status);
create table u (id int primary key, s status);
-- do --
alter type status rename value 'a' to 'b';
create table v (id int primary key, s status);
-- spots --
change_type_definition public.status: rename label a b
change_type_definition public.status: rename label a b
create_table public.v
-- postgres --
ALTER TYPE "public"."status" RENAME VALUE 'a' TO 'b'
DO $ddlrepl$ BEGIN ALTER TYPE "public"."status" RENAME VALUE 'a' TO 'b'; EXCEPTION WHEN duplicate_column OR undefined_column OR duplicate_object OR undefined_object OR invalid_parameter_value THEN NULL; END $ddlrepl$
DO $ddlrepl$ BEGIN CREATE TYPE "public"."status" AS ENUM ('b'); EXCEPTION WHEN duplicate_object THEN NULL; END $ddlrepl$
CREATE TABLE "public"."v" ("id" integer NOT NULL, "s" public.status)
ALTER TABLE "public"."v" ADD PRIMARY KEY ("id")
