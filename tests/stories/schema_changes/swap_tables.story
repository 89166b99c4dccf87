# Two tables swap their names.
-- old --
create table a (id int primary key, x text);
create table b (id int primary key, y int);
insert into a values (1, 'a');
insert into b values (2, 3);
-- do --
begin; alter table a rename to c; alter table b rename to a; alter table c rename to b; commit;
-- spots --
rename_table public.a -> public.c
rename_table public.b -> public.a
rename_table public.c -> public.b
-- postgres --
ALTER TABLE "public"."a" RENAME TO "c"
ALTER TABLE "public"."b" RENAME TO "a"
ALTER TABLE "public"."c" RENAME TO "b"
