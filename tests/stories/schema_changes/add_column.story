# A column without default: rows that stand show NULL.
-- req --       HVR-O-14 HVR-D-22
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column amount numeric(12,2);
insert into orders values (3, 'c', 1.5);
-- spots --
add_column amount numeric(12,2)
-- postgres --
ALTER TABLE "public"."orders" ADD COLUMN "amount" numeric(12,2)
