# Build anew, drop, rename into place: the kept old table makes way.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
create table orders_new (id int primary key, note varchar(9));
drop table orders;
alter table orders_new rename to orders;
