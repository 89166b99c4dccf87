# A table made again whose generated column stands before its input: the target's kept table gets the input first.
-- old --
create table t (id int primary key);
insert into t values (1);
-- do --
drop table t;
create table t (id int primary key, g bigint generated always as (b * 2) stored, b int);
-- spots --
drop_table public.t
create_table public.t
-- postgres --
TRUNCATE TABLE "public"."t"
ALTER TABLE "public"."t" ADD COLUMN "b" integer
ALTER TABLE "public"."t" ADD COLUMN "g" bigint GENERATED ALWAYS AS ((b * 2)) STORED
