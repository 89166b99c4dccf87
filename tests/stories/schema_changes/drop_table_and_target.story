# on_drop_table DROP_FROM_CHANNEL_AND_TARGET drops it.
-- req --       HVR-P-90
-- policy --
on_drop_table: DROP_FROM_CHANNEL_AND_TARGET
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
drop table orders;
-- spots --
drop_table public.orders
-- postgres --
DROP TABLE IF EXISTS "public"."orders"
-- holds --
select to_regclass('public.orders') is null => (t)
