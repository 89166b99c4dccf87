# A volatile default gives every row another value that the log does not carry: that table is refreshed.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column u uuid default gen_random_uuid();
-- spots --
add_column u uuid
-- postgres --
refresh
