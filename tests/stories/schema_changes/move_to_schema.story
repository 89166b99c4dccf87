# Another schema, created where it is missing.
-- old --
create schema "Odd one";
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders set schema "Odd one";
