# A domain's checks, default and NOT NULL follow.
-- old --
create domain positive as int check (value > 0);
create table t (id int primary key, n positive);
insert into t values (1, 5);
-- do --
alter domain positive add constraint small check (value < 100);
alter domain positive drop constraint positive_check;
alter domain positive set default 1;
alter domain positive set not null;
