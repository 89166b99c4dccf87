# The same with a warning.
-- req --       HVR-P-49
-- policy --
on_add_column_with_default: WARNING
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column c int not null default 7;
-- same --      nothing
-- spots --
add_column c integer
-- postgres --
warn
ALTER TABLE "public"."orders" ADD COLUMN "c" integer NOT NULL DEFAULT 0
-- holds --
select c from orders where id = 1 => (0)
