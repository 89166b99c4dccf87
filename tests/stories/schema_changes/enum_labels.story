# A new label is committed before anything else; a renamed one shows in the rows that stand.
-- old --
create type status as enum ('open', 'closed');
create table t (id int primary key, s status default 'open', h status[]);
insert into t values (1, 'open', '{closed}');
-- do --
alter type status add value 'new' before 'open';
alter type status add value 'late';
alter type status rename value 'closed' to 'done';
