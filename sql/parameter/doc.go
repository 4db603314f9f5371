// Package parameter is the statements that change and show parameters: SET, SET LOCAL, SET
// TRANSACTION, RESET and SHOW.
//
// Package settings has the values. A change belongs to the transaction block of the session, which
// undoes it with the transaction or savepoint.
package parameter
