// Broken shows that the tests can fail. For each rule of the transaction protocol (package
// txn/rule) it makes the build without that rule, and runs the tests that are claimed to fail on
// it. It exits with 1 if such a test passes, if the unbroken build does not pass them all, and if
// no test is claimed for a rule.
//
//	go run ./integration/broken                      all rules; a few minutes
//	go run ./integration/broken T4ReadLease T8PreparedReads     these
//	go run ./integration/broken -histories 15s       the random histories as well, for so long each
//
// A build without a rule is the ordinary build with one constant of txn/rule replaced: the overlay
// of the go command replaces the text of that file.
package main
