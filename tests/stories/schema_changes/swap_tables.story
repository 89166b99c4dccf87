# Two tables swap their names.
-- old --
create table a (id int primary key, x text);
create table b (id int primary key, y int);
insert into a values (1, 'a');
insert into b values (2, 3);
-- do --
begin; alter table a rename to c; alter table b rename to a; alter table c rename to b; commit;
