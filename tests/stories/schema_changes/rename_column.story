# Rename is not drop + add.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders rename note to remark;
-- spots --
rename_column note -> remark
-- postgres --
ALTER TABLE "public"."orders" RENAME COLUMN "note" TO "remark"
