# A new generation expression gives the rows that stand new values, at the target as well.
-- old --
create table t (id int primary key, a int, b int generated always as (a * 2) stored);
insert into t(id, a) values (1, 2);
-- do --
alter table t alter column b set expression as (a * 10);
alter table t alter column b drop expression;
-- spots --
change_generated b stored (a * 2) -> stored (a * 10)
change_generated b stored (a * 10) -> plain
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "b" SET EXPRESSION AS ((a * 10))
ALTER TABLE "public"."t" ALTER COLUMN "b" DROP EXPRESSION IF EXISTS
