# A column with a constant default is filled by the ALTER itself; nothing is reloaded.
-- old --
create table orders (id int primary key, note text);
insert into orders values (1, 'a'), (2, null);
-- do --
alter table orders add column state text not null default 'open';
alter table orders add column n int default 7;
-- spots --
add_column state text
add_column n integer
-- postgres --
ALTER TABLE "public"."orders" ADD COLUMN "state" text DEFAULT 'open'::text NOT NULL
ALTER TABLE "public"."orders" ADD COLUMN "n" integer DEFAULT 7
