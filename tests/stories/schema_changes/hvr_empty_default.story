# HVR's default policy: rows that stand get the type's own empty value, not the source's default.
-- req --       HVR-P-46 HVR-D-27
-- policy --
defaults: hvr
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column c int not null default 7;
alter table orders add column d text default 'x';
-- same --      nothing
-- spots --
add_column c integer
add_column d text
-- postgres --
ALTER TABLE "public"."orders" ADD COLUMN "c" integer NOT NULL DEFAULT 0
ALTER TABLE "public"."orders" ADD COLUMN "d" text
-- holds --
select c, d from orders where id = 1 => (0,)
