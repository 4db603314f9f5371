// Package memory counts the memory that a query retains, and keeps rows and keys in it.
//
// An Account is shared by the query's goroutines; above its limit it returns 53200 (exec.E5). An
// Arena keeps copies of rows, and a KeySet encoded keys; both return what they took when they are
// freed. The package knows neither plans nor expressions.
package memory
