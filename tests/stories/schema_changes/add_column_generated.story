# A generated column is computed by the target too.
-- old --
create table t (id int primary key, a int);
insert into t values (1, 2);
-- do --
alter table t add column b int generated always as (a * 2) stored;
alter table t add column c int generated always as (a * 3) virtual;
-- spots --
add_column b integer
add_column c integer
-- postgres --
ALTER TABLE "public"."t" ADD COLUMN "b" integer GENERATED ALWAYS AS ((a * 2)) STORED
ALTER TABLE "public"."t" ADD COLUMN "c" integer GENERATED ALWAYS AS ((a * 3)) VIRTUAL
