# The user's function can't be had at the target: the column's values come with the rows.
-- old --
create function twice(int) returns int language sql immutable as 'select $1 * 2';
create table t (id int primary key, a int);
insert into t values (1, 2);
-- do --
alter table t add column b int generated always as (twice(a)) stored;
-- spots --
add_column b integer
-- postgres --
refresh
