# An identity column numbers the rows that stand; at the target it lets replicated values in.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column n int generated always as identity;
-- spots --
add_column n integer
-- postgres --
refresh
