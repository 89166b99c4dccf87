# NOT NULL comes and goes.
-- old --
create table t (id int primary key, a text not null, b text);
-- do --
alter table t alter a drop not null, alter b set not null;
