# DDL inside a DO block is known by its own text.
-- old --
create table t (id int primary key, s varchar(5), n int);
insert into t values (1, 'abc', 2);
-- do --
do $$ begin execute 'alter table t alter s type varchar(9)'; end $$;
do $$ begin execute 'alter table t alter n type bigint'; end $$;
do $$ begin execute 'alter table t alter s type varchar(12) using s || ''x'''; end $$;
-- spots --
change_type s character varying(5) -> character varying(9) (widen)
change_type n integer -> bigint (widen)
change_type s character varying(9) -> character varying(12) (widen)
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "s" TYPE character varying(9)
ALTER TABLE "public"."t" ALTER COLUMN "n" TYPE bigint
refresh
