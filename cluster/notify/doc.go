// Package notify brings what transactions say with NOTIFY to the sessions that listen on other nodes.
//
// Each node follows each other node: a stream on which that one sends what its transactions have said, in the order in which it hands it to its own
// sessions. Messages are counted by each process from its start, and the last ones are kept in memory, so that who comes back gets what it has not heard.
//
// Nothing is stored. Where something may be lost, because a node died or a stream was broken for long, the sessions that listen here are ended
// (sql.Server.Missed), as a crash of PostgreSQL would end them. A node that stops in peace says so, and nobody loses anything.
package notify
