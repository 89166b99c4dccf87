# A table made again with other columns: what a generated column was made of goes after it, and comes before it.
-- old --
create table t (id int primary key, b int, g int generated always as (b * 2) stored, h int generated always as (b) stored);
insert into t (id, b) values (1, 2);
-- do --
drop table t;
create table t (h int generated always as (c) stored, g int generated always as (c + 1) stored, id int primary key, c int);
-- spots --
drop_table public.t
create_table public.t
-- postgres --
TRUNCATE TABLE "public"."t"
ALTER TABLE "public"."t" ALTER COLUMN "h" DROP EXPRESSION IF EXISTS
ALTER TABLE "public"."t" ALTER COLUMN "g" DROP EXPRESSION IF EXISTS
ALTER TABLE "public"."t" DROP COLUMN "b"
ALTER TABLE "public"."t" ADD COLUMN "c" integer
ALTER TABLE "public"."t" DROP COLUMN "h", ADD COLUMN "h" integer GENERATED ALWAYS AS (c) STORED
ALTER TABLE "public"."t" DROP COLUMN "g", ADD COLUMN "g" integer GENERATED ALWAYS AS ((c + 1)) STORED
