# A dropped table's target table stays.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
drop table orders;
-- spots --
drop_table public.orders
-- holds --
select count(*) from orders => (2)
