# A column's collation follows.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders alter note type text collate "C";
alter table orders alter note type text;
-- spots --
change_type note text -> text collate pg_catalog."C" (collate)
change_type note text -> text (collate)
-- postgres --
ALTER TABLE "public"."orders" ALTER COLUMN "note" TYPE text COLLATE pg_catalog."C"
ALTER TABLE "public"."orders" ALTER COLUMN "note" TYPE text
