# HVR narrows and refreshes.
-- req --       HVR-D-43
-- policy --
defaults: hvr
-- old --
create table t (id int primary key, s varchar(12));
insert into t values (1, 'abc');
-- do --
alter table t alter s type varchar(5);
-- spots --
change_type s character varying(12) -> character varying(5) (narrow)
-- postgres --
refresh
