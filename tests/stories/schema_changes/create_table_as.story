# Rows of CREATE TABLE AS may lie before the table joined: that table is refreshed.
-- old --
create table t (id int primary key);
insert into t values (1);
-- do --
create table u as select id, 'x'::text as x from t;
-- spots --
create_table public.u
-- postgres --
CREATE TABLE "public"."u" ("id" integer, "x" text)
refresh
