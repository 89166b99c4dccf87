# HVR renames and refreshes.
-- req --       HVR-D-56
-- policy --
defaults: hvr
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders rename note to remark;
-- spots --
rename_column note -> remark
-- postgres --
refresh
