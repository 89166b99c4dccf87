# Dropping a key column drops the key; the next one is made.
-- old --
create table t (a int, b int, c text, primary key (a, b));
insert into t values (1, 2, 'x');
-- do --
alter table t drop column b;
alter table t add primary key (a);
