# USING with nothing but a cast of the column itself is repeated at the target; no reload.
-- old --
create table t (id int primary key, a text, j json, n text, b int);
insert into t values (1, '{"a": 1}', '{"b": 2}', '42', 1);
-- do --
alter table t alter a type json using a::json, alter column j set data type jsonb using (CAST(j AS jsonb)), alter n type int using n::int;
alter table t alter b type boolean using b::boolean;
-- spots --
change_type a text -> json (convert)
change_type j json -> jsonb (convert)
change_type n text -> integer (convert)
change_type b integer -> boolean (convert)
-- postgres --
ALTER TABLE "public"."t" ALTER COLUMN "a" TYPE json USING "a"::json
ALTER TABLE "public"."t" ALTER COLUMN "j" TYPE jsonb USING "j"::jsonb
ALTER TABLE "public"."t" ALTER COLUMN "n" TYPE integer USING "n"::integer
ALTER TABLE "public"."t" ALTER COLUMN "b" TYPE boolean USING "b"::boolean
