# What was written while a table was unlogged is not in the log: refreshed when it is logged again.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders set unlogged;
insert into orders values (3, 'x');
alter table orders set logged;
-- same --      nothing
-- spots --
change_logging unlogged
change_logging logged
-- postgres --
refresh
