// Package spool keeps what a statement writes down and reads again: rows, or records of any kind, in
// memory while they are few, then in a temporary file that has no name.
//
// A Spool is one such list. An operation that divides its rows writes Runs, which share a File. A
// File reads and writes blocks, and verifies their checksums; so a record is what this process has
// encoded, and is not checked when it is decoded. The files count against temp_file_limit. The
// package knows neither plans nor expressions.
package spool
