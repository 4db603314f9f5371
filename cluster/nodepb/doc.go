// Package nodepb is what nodes say to each other, as protobuf (V4): the greeting of every connection, joining, Raft, and (not used
// yet) tasks.
//
// It holds generated code only. Field numbers are never reused; a field that is no longer sent is reserved. Who says what to whom, and when, is in
// packages door, join and raftnet.
package nodepb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative door.proto join.proto raft.proto task.proto definitions.proto deadlock.proto activity.proto upkeep.proto notify.proto tablelock.proto advisory.proto move.proto
