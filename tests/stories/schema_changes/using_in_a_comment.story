# The word USING in a comment, a string or a quoted name is no USING clause.
-- old --
create table t (id int primary key, "using" int);
-- do --
alter table t /* using nothing */ alter "using" type bigint -- using
, alter "using" set default 1;
