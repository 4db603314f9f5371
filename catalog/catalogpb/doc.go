// Package catalogpb is the durable form of the catalog: log entries and snapshots, as protobuf (V4).
//
// It holds generated code only. Field numbers are never reused; a field that is no longer written is reserved. Package catalog is its
// one reader and writer.
package catalogpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative catalog.proto plan.proto proposal.proto
