// Package spool keeps what a statement writes down and reads again once: rows, or records of any
// kind, in memory while they are few, then in a temporary file that has no name.
//
// A record is what this process has encoded, so it is not checked when it is read. It knows neither
// plans nor expressions.
package spool
