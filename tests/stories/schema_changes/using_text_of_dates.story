# The text of a date depends on DateStyle, which the log does not tell: refreshed.
-- old --
create table t (id int primary key, d text);
insert into t values (1, '01/02/2026');
-- do --
alter table t alter d type date using d::date;
-- spots --
change_type d text -> date (convert)
-- postgres --
refresh
