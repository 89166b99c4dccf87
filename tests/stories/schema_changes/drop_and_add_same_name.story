# Dropped and added under one name: another column, its values are not carried over.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders drop column note, add column note text;
-- spots --
drop_column note
add_column note text
-- postgres --
ALTER TABLE "public"."orders" DROP COLUMN "note"
ALTER TABLE "public"."orders" ADD COLUMN "note" text
