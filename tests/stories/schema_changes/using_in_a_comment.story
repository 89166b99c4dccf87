# The word USING in a comment, a string or a quoted name is no USING clause.
-- old --
create table t (id int primary key, "using" int);
-- do --
alter table t /* using nothing */ alter "using" type bigint -- using
, alter "using" set default 1;
-- spots --
change_type using integer -> bigint (widen)
change_default using none -> 1
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "using" TYPE bigint
ALTER TABLE "public"."t" ALTER COLUMN "using" SET DEFAULT 1
