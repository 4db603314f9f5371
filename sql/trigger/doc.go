// Package trigger fires the triggers of tables: which of them an event fires, in which order, with which
// rows.
//
//	TG1 Triggers of the same kind fire in the order of their names. Each BEFORE trigger gets the row that
//	    the one before it has returned.
//	TG2 The condition of an AFTER trigger is evaluated when the row is written. The trigger fires after
//	    the statement that has written the row, and after its foreign keys.
//	TG3 What is kept of rows is in memory while it is small, then in files. It is released with its
//	    statement, however that ends.
//
// The package runs no functions itself: exec.Hooks.Trigger does.
package trigger
