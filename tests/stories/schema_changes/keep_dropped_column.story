# keep_existing_structure: the column stays and lets NULL in.
-- req --       HVR-P-94 HVR-D-34 HVR-P-100
-- policy --
keep_existing_structure: true
-- old --
create table orders (id int primary key, note text not null);
insert into orders values (1, 'a');
-- do --
alter table orders drop column note;
insert into orders values (2);
-- same --      nothing
-- spots --
drop_column note
-- postgres --
ALTER TABLE "public"."orders" ALTER COLUMN "note" DROP NOT NULL
-- holds --
select note from orders where id = 1 => (a)
select note is null from orders where id = 2 => (t)
