# DDL inside a DO block: the text can't rule out USING, but no row was rewritten.
-- old --
create table t (id int primary key, s varchar(5), n int);
insert into t values (1, 'abc', 2);
-- do --
do $$ begin execute 'alter table t alter s type varchar(9)'; end $$;
do $$ begin execute 'alter table t alter n type bigint'; end $$;
