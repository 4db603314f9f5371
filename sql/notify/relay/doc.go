// Package relay delivers the NOTIFY messages of transactions to the sessions that listen on other
// nodes.
//
// Each node follows each other node: on a stream the followed node sends the messages of its
// transactions, in the order in which it delivers them to its own sessions. Each process counts
// messages from its start and keeps the last ones in memory, so that a follower that reconnects
// gets the messages that it has missed.
//
// Nothing is stored. If messages may be lost, because a node died or a stream was broken for long,
// the sessions that listen here are terminated (notify.Hub.Missed of package sql/notify), as a
// crash of PostgreSQL would terminate them. A node that stops in an orderly way announces it, and
// no message is lost.
package relay
