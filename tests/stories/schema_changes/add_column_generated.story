# A generated column is computed by the target too.
-- old --
create table t (id int primary key, a int);
insert into t values (1, 2);
-- do --
alter table t add column b int generated always as (a * 2) stored;
alter table t add column c int generated always as (a * 3) virtual;
