// Package scenario plays scripts of clients against a server: what each client sends, in which
// order, and what it sees. It is for tests. The clients are connections over PostgreSQL's protocol,
// so the same script runs against a server in the test's process, nodes in it, and other processes.
//
// A script is a file of github.com/cockroachdb/datadriven: a directive, its input, "----", what it
// answers, an empty line. Its first line is a comment that says what the script shows.
//
//	# Lost update: the second writer waits, and then counts from what the first one has written.
//	exec a
//	CREATE TABLE t (id int PRIMARY KEY, v int)
//	INSERT INTO t VALUES (1, 10)
//	BEGIN; UPDATE t SET v = v + 1
//	----
//	CREATE TABLE
//	INSERT 0 1
//	BEGIN
//	UPDATE 1
//
//	start b
//	UPDATE t SET v = v + 1 RETURNING v
//	----
//	waits for a
//
//	exec a
//	COMMIT
//	----
//	COMMIT
//
//	finish b
//	----
//	12
//	UPDATE 1
//
// The directives:
//
//	exec S              runs each line of the input as a query string of session S; an indented line
//	                    continues the one before, and a line that begins with -- is a comment
//	exec S -> x         calls the first value of the last row x; {x} stands for it from here on
//	start S             runs a query string in the background, and returns when it waits for a lock
//	finish S            waits for the answer of what was started
//	await S             runs the query strings until their answer is the expected one
//	pipeline S          sends the lines as statements of the extended protocol before one Sync
//	copy S              runs COPY; lines after the first are the data
//	heard S             lists the notifications that S has got since it was last asked
//	check               runs sherd.check(): what is wrong, or "ok" and how many indexes it compared
//	session S [k=v …]   connects S as user=…, to database=…, at server=…
//	close S             disconnects S
//
// With `brief` behind it, a directive leaves DETAIL out of errors. Use it if DETAIL depends on
// which of several rows comes first. A session that a directive names for the first time connects
// as postgres; the name a may be left out. A package adds directives of its own, to restart a node
// for one (Config.Directives).
//
// Answers are rows with | between the values, two quotes for an empty value and NULL; the command
// tag; and errors and notices with SQLSTATE, DETAIL and HINT. {pid a} stands for the process number
// of session a. In errors the numbers of transactions are N and times are TIME. Notices of how far
// a move has come are left out, because they depend on how long it takes.
//
// The flag -rewrite writes the answers into the scripts. Read the difference before you commit it.
package scenario
