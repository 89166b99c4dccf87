# Attributes of a composite type come, go and change their names; rows that stand follow without reload.
-- old --
create type pair as (a int, b text);
create table t (id int primary key, p pair, l pair[]);
insert into t values (1, '(1,x)', array['(2,y)'::pair]);
-- do --
alter type pair add attribute c int;
alter type pair rename attribute b to bee;
alter type pair drop attribute a;
-- spots --
change_type_definition public.pair: add attribute c integer
change_type_definition public.pair: rename attribute b bee
change_type_definition public.pair: drop attribute a
-- postgres --
ALTER TYPE "public"."pair" ADD ATTRIBUTE "c" integer
ALTER TYPE "public"."pair" RENAME ATTRIBUTE "b" TO "bee"
ALTER TYPE "public"."pair" DROP ATTRIBUTE "a"
