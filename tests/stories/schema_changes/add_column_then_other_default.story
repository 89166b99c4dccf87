# The value that old rows show and the default of new rows may differ.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column n int default 7, alter column n set default 8;
-- spots --
add_column n integer
-- postgres --
ALTER TABLE "public"."orders" ADD COLUMN "n" integer DEFAULT '7'::integer
ALTER TABLE "public"."orders" ALTER COLUMN "n" SET DEFAULT 8
