# A dropped column is dropped.
-- req --       HVR-D-33
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders drop column note;
-- spots --
drop_column note
-- postgres --
ALTER TABLE "public"."orders" DROP COLUMN "note"
