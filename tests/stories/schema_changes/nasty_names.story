# Quotes, spaces, semicolons, percent signs, other scripts, 63 bytes.
-- old --
create table "o'r""d; drop %s" (id int primary key, "a "" b" text, "%(x)s" int);
insert into "o'r""d; drop %s" values (1, 'x', 2);
-- do --
alter table "o'r""d; drop %s" rename "a "" b" to "ключ; --";
alter table "o'r""d; drop %s" add column "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüx" text default 'it''s \ % $ddlrepl$';
alter table "o'r""d; drop %s" rename to "Ünï $1 {} %";
-- spots --
rename_column a " b -> ключ; --
add_column üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüx text
rename_table public.o'r"d; drop %s -> public.Ünï $1 {} %
-- postgres --
ALTER TABLE "public"."o'r""d; drop %s" RENAME COLUMN "a "" b" TO "ключ; --"
ALTER TABLE "public"."o'r""d; drop %s" ADD COLUMN "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüx" text DEFAULT E'it''s \\ % $ddlrepl$'::text
ALTER TABLE "public"."o'r""d; drop %s" ALTER COLUMN "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüx" SET DEFAULT 'it''s \ % $ddlrepl$'::text
ALTER TABLE "public"."o'r""d; drop %s" RENAME TO "Ünï $1 {} %"
