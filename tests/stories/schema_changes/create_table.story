# A new table stands at the target at once; its rows come by the log.
-- do --
create table shop (id int primary key, name text not null default 'x', price numeric(8,2));
-- spots --
create_table public.shop
-- postgres --
CREATE TABLE "public"."shop" ("id" integer NOT NULL, "name" text NOT NULL DEFAULT 'x'::text, "price" numeric(8,2))
ALTER TABLE "public"."shop" ADD PRIMARY KEY ("id")
