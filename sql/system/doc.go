// Package system runs statements of the system, which has no client: those of jobs. A Worker has what
// a session has for its client and a statement depends on: values of parameters, an executor, a
// transaction environment, answers for functions that ask for the session.
//
//	SY1  A statement obeys the constraints, foreign keys and policies of the tables that it writes,
//	     as a client's does, and keeps split documents whole.
//	SY2  It keeps the definitions of the tables that it uses from changing, by their locks.
//	SY3  A transaction is READ COMMITTED. It is run again after a conflict, a deadlock, a move or a new
//	     leader, so its function must not keep what it has learned in an earlier run.
//
// Privileges are not checked, and the limits that clients set for their statements do not apply. The
// package never writes to a client, and reads no system views.
package system
