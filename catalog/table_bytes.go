package catalog

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
)

// MarshalTable encodes a table's definition as in the catalog's log, so that a definition that is
// not in force yet can be sent to another node.
func MarshalTable(t *Table) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(encodeTable(t))
	if err != nil {
		return nil, fmt.Errorf("catalog: table %q: %w", t.Name, err)
	}
	return b, nil
}

// UnmarshalTable decodes the output of MarshalTable.
func UnmarshalTable(b []byte) (*Table, error) {
	p := &pb.Table{}
	if err := proto.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("catalog: a table's definition is damaged: %w", err)
	}
	return decodeTable(p)
}
