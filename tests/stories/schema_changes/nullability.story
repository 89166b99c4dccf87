# NOT NULL comes and goes.
-- old --
create table t (id int primary key, a text not null, b text);
-- do --
alter table t alter a drop not null, alter b set not null;
-- spots --
change_nullability a null
change_nullability b not null
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "a" DROP NOT NULL
ALTER TABLE "public"."t" ALTER COLUMN "b" SET NOT NULL
