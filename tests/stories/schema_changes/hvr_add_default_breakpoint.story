# A breakpoint stops the target at the statement.
-- policy --
on_add_column_with_default: FAIL_INTEG_JOB
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column c int not null default 7;
-- same --      nothing
-- spots --
add_column c integer
-- postgres --
control
ALTER TABLE "public"."orders" ADD COLUMN "c" integer NOT NULL DEFAULT 0
