# The table is refreshed so that the source's default shows up.
-- policy --
on_add_column_with_default: REFRESH
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column c int not null default 7;
-- spots --
add_column c integer
-- postgres --
refresh
