# Quotes, spaces, semicolons, percent signs, other scripts, 63 bytes.
-- old --
create table "o'r""d; drop %s" (id int primary key, "a "" b" text, "%(x)s" int);
insert into "o'r""d; drop %s" values (1, 'x', 2);
-- do --
alter table "o'r""d; drop %s" rename "a "" b" to "ключ; --";
alter table "o'r""d; drop %s" add column "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüx" text default 'it''s \ % $ddlrepl$';
alter table "o'r""d; drop %s" rename to "Ünï $1 {} %";
