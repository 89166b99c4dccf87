# Dropping a key column drops the key; the next one is made.
-- old --
create table t (a int, b int, c text, primary key (a, b));
insert into t values (1, 2, 'x');
-- do --
alter table t drop column b;
alter table t add primary key (a);
-- spots --
change_key dropped
drop_column b
change_key primary key (a)
-- postgres --
ALTER TABLE "public"."t" DROP CONSTRAINT "t_pkey"
ALTER TABLE "public"."t" DROP COLUMN "b"
ALTER TABLE "public"."t" ADD PRIMARY KEY ("a")
