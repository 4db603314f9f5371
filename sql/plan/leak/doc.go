// Package leak reports which expressions may reveal something about a row to the client, other than by
// their result: by an error that shows a value, a notice, or another effect of a function of a user. Row
// security and views with security_barrier hide rows from such expressions. It is pure.
package leak
