# With USING only the source knows the new values: that table is refreshed.
-- old --
create table t (id int primary key, n int);
insert into t values (1, 42);
-- do --
alter table t alter n type text using 'n' || n;
-- spots --
change_type n integer -> text (convert)
-- postgres --
refresh
