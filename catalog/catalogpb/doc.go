// Package catalogpb is the durable form of the catalog: log entries and snapshots, as protobuf
// (V4).
//
// It contains only generated code. Field numbers are never reused; a field that is no longer
// written is reserved. Only package catalog reads and writes these messages.
package catalogpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative catalog.proto plan.proto proposal.proto
