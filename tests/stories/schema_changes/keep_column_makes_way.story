# A kept column makes way for a new one of its name.
-- policy --
keep_existing_structure: true
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders drop column note;
alter table orders add column note int;
-- spots --
drop_column note
add_column note integer
-- postgres --
ALTER TABLE "public"."orders" RENAME COLUMN "note" TO "note_kept"
ALTER TABLE "public"."orders" ADD COLUMN "note" integer
