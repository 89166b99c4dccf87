# Narrower without USING: the source's own cast, repeated.
-- old --
create table t (id bigint primary key, s varchar(12), n numeric(12,4));
insert into t values (1, 'abc', 1.2345);
-- do --
alter table t alter s type varchar(5), alter n type numeric(12,2), alter id type int;
-- spots --
change_type id bigint -> integer (narrow)
change_type s character varying(12) -> character varying(5) (narrow)
change_type n numeric(12,4) -> numeric(12,2) (convert)
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "id" TYPE integer
ALTER TABLE "public"."t" ALTER COLUMN "s" TYPE character varying(5)
ALTER TABLE "public"."t" ALTER COLUMN "n" TYPE numeric(12,2)
