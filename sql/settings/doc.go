// Package settings is the configuration parameters: PostgreSQL's, with their types, bounds and
// defaults as dumped from it, and Sherd's own; and the values that they have in a session.
//
// A Definition knows which values a parameter takes. Values holds what was set: by a session, its
// transactions and savepoints, over the start-up packet, the role, the database, the cluster and
// the command line of the node. Names are case-insensitive. Names with a dot that are not defined
// are placeholders, as in PostgreSQL, except sherd.…, which are 42704.
package settings
