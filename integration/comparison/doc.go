// Package comparison runs statements on PostgreSQL 15 and on one node of Sherd in turn, and compares
// their rows and times. The statements come from files of cases, which tests of plans read too.
//
// A file of cases has the format of github.com/cockroachdb/datadriven. Its first line is a comment
// that says what the cases have in common:
//
//	case key_int8
//	SELECT name FROM items WHERE id = $1
//	$1 int8: 17
//	----
//	Gather  (fragments: ...
//
// The lines after the statement are its parameters, with their types and text values. {1..1000} is
// an array of these numbers, and NULL is null. A statement that writes is a `write` instead of a
// `case`: it is rolled back. What follows the four hyphens is Sherd's plan.
//
// A data set is a script that defines tables, generated rows, and a script that defines indexes.
// PostgreSQL and Sherd load the same scripts. Options that only Sherd has are in comments:
// /* sherd: WITH (shard_by = 'acct') */ is text of the script for Sherd, and a comment for
// PostgreSQL.
package comparison
