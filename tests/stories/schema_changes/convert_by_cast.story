# int to text without USING has one outcome on every server.
-- old --
create table t (id int primary key, n int, b boolean);
insert into t values (1, 42, true);
-- do --
alter table t alter n type text, alter b type text;
-- spots --
change_type n integer -> text (convert)
change_type b boolean -> text (convert)
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "n" TYPE text
ALTER TABLE "public"."t" ALTER COLUMN "b" TYPE text
