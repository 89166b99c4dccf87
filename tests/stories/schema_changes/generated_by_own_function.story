# The user's function can't be had at the target and the log lacks the values: refused.
-- old --
create function twice(int) returns int language sql immutable as 'select $1 * 2';
create table t (id int primary key, a int);
-- do --
alter table t add column b int generated always as (twice(a)) stored;
-- same --      refused
-- spots --
add_column b integer
-- postgres --
refuse ADP-103
