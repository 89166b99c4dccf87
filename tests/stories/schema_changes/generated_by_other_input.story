# What a generated column is computed from is exchanged, renamed or retyped step by step in one transaction.
-- old --
create table t (id int primary key, b int, c int, g int generated always as (b * 2) stored);
insert into t (id, b, c) values (1, 2, 3);
-- do --
begin; alter table t alter column g set expression as (c * 2); alter table t drop column b; commit;
begin; alter table t alter column g set expression as (id); alter table t alter column c type bigint; alter table t rename c to d; commit;
-- spots --
change_generated g stored (b * 2) -> stored (c * 2)
drop_column b
change_generated g stored (c * 2) -> stored id
change_type c integer -> bigint (widen)
rename_column c -> d
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "g" SET EXPRESSION AS ((c * 2))
ALTER TABLE "public"."t" DROP COLUMN "b"
ALTER TABLE "public"."t" ALTER COLUMN "g" SET EXPRESSION AS (id)
ALTER TABLE "public"."t" ALTER COLUMN "c" TYPE bigint
ALTER TABLE "public"."t" RENAME COLUMN "c" TO "d"
