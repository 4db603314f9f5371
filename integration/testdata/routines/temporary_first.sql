-- The first temporary object of a session is found in the transaction that creates it.
create temp table x as select g as a from generate_series(1, 3) g;
select * from x order by 1;
discard temp;
begin; create temp table y (a int, n serial); insert into y(a) values (1), (2); select * from y order by 1; rollback;
select * from y;
begin; create temp table y (a int); insert into y values (5); create index on y (a); select * from y where a = 5; commit;
select * from y;
create function pg_temp.g() returns int language sql as 'select 1'; select pg_temp.g(); discard all; select pg_temp.g();
