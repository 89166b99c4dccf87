# Two columns swap their names in one transaction; identity tells which is which.
-- old --
create table t (id int primary key, a text, b text);
insert into t values (1, 'a', 'b');
-- do --
begin; alter table t rename a to x; alter table t rename b to a; alter table t rename x to b; commit;
-- spots --
rename_column a -> x
rename_column b -> a
rename_column x -> b
-- postgres --
ALTER TABLE "public"."t" RENAME COLUMN "a" TO "x"
ALTER TABLE "public"."t" RENAME COLUMN "b" TO "a"
ALTER TABLE "public"."t" RENAME COLUMN "x" TO "b"
