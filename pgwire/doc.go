// Package pgwire is the client transport: it speaks PostgreSQL's frontend/backend protocol 3.0 on a
// socket and SQL sessions behind it.
//
// A connection is one goroutine and one session. It reads a message, passes it to the session, and
// appends the answers to one buffer, which is written when the client's turn comes or the buffer is
// large. The package frames messages itself and leaves their fields to jackc/pgproto3. Only
// DataRow, the one message whose number depends on the data, is encoded in place without that
// library.
//
// There is one file per conversation: startup, tls, auth, query, extended and bind, copy, cancel,
// errors. listener and shutdown have the sockets; reader, decode and results have the bytes;
// interrupt and notify have what reaches a connection from outside. The conversations of testdata
// are played against this server, and with -oracle HOST:PORT against a PostgreSQL.
//
// The package never looks into SQL, knows no transaction, and keeps no statement or portal except
// the formats that a portal was bound with. It logs only what cannot be reported to a client.
//
// Invariants:
//
//	W1  Before authentication a client gets memory for one start-up packet (10,000 bytes) or one
//	    password message (1,024), and the time of Config.StartupTimeout. Only start-up packets and
//	    'p' are read then.
//	W2  Memory follows the bytes that arrived, never the length that a header claims. A message
//	    above Config.MaxMessage is skipped and answered with 54000; a length that PostgreSQL
//	    itself forbids ends the connection with 08P01.
//	W3  A message that does not decode is 08P01, even if the decoder panics: it runs under a
//	    guard. The connection stays in step, because the whole frame was read before.
//	W4  After an error in the extended protocol everything up to Sync is dropped, and every Sync,
//	    and every Query and FunctionCall that is not dropped, is answered by exactly one
//	    ReadyForQuery.
//	W5  A cancel request ends the statement that runs when it arrives, or nothing. Its key is
//	    compared in constant time. Other sessions may do the same, or end the connection
//	    (session.Handle): the client gets the reason in every state.
//	W6  An idle connection holds no pooled buffer: 2 KiB to read into, its session, and a small
//	    stack: 10 KiB together without the session, measured over 10,000 connections.
//	W7  Text from a client is valid UTF-8 without NUL before it reaches a session (22021).
//	W8  The time-outs of a silent client (Session.IdleLimit) count from ReadyForQuery: time in a
//	    statement or a pipeline does not.
//	W9  Notifications are sent outside of transactions only: before ReadyForQuery, or while the
//	    client says nothing, between whole messages.
//
// Limits: protocol 3.0 (newer minor versions are negotiated down); client_encoding UTF8 and
// SQL_ASCII; no function call messages (0A000), no replication connections, no GSSAPI, no direct
// TLS without SSLRequest.
package pgwire
