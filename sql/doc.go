// Package sql wires the part of a node that serves SQL.
//
// Server is what the sessions of a node share (session.Node), built from a Config: transactions,
// locks, prepared transactions, sequences, the cache of programs, notifications and reports. It
// also runs the jobs of the system. What a client says to a session, and how a statement runs, is in
// package session.
package sql
