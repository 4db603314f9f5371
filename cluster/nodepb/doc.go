// Package nodepb holds the messages between nodes, as protobuf (V4): the handshake of every
// connection, joining, Raft, tasks, and requests about fragments.
//
// It holds generated code only. Field numbers are never reused; a field that is no longer sent is
// reserved. To add an operation on a fragment, add a message to Request in fragment.proto.
package nodepb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative handshake.proto join.proto raft.proto error.proto task.proto fragment.proto definitions.proto deadlock.proto activity.proto notify.proto tablelock.proto advisory.proto
