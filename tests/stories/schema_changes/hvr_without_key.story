# HVR refreshes when all columns are the key and one comes or goes; with our own defaults an ALTER does.
-- req --       HVR-O-11
-- policy --
defaults: hvr
-- old --
create table t (a int, b int);
insert into t values (1, 2);
-- do --
alter table t add column c int;
alter table t drop column b;
-- spots --
add_column c integer
drop_column b
-- postgres --
refresh
refresh
