// Package memory counts the memory that a query retains, and keeps rows and keys in it.
//
// An Account is shared by the query's goroutines; above its limit it returns 53200 (exec.E5). An
// operation that can write its rows to files has an Account of its own, with a limit within the
// query's, and writes when that is full; then it always gets enough for a batch of rows. The files
// are counted too. An Arena keeps copies of rows, and a KeySet encoded keys; both return what they
// took when they are freed. The package knows neither plans nor expressions.
package memory
