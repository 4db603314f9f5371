// Package settings is the configuration parameters: PostgreSQL's, with their types, bounds and defaults as dumped from it, and Sherd's own.
//
// It knows what a parameter is and which values it takes; who has set what is the session's (Values). Names are case-insensitive. Names with
// a dot that no one has defined are placeholders, as in PostgreSQL, but for sherd.…, which are 42704.
package settings
