# A serial column numbers the rows that stand: refreshed; its sequence stays at the source.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column n serial;
-- spots --
add_column n integer
-- postgres --
refresh
