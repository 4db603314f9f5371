package catalog

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
)

// MarshalTable returns a table's definition as the catalog's log has it, for sending one that is
// not in force yet.
func MarshalTable(t *Table) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(encodeTable(t))
	if err != nil {
		return nil, fmt.Errorf("catalog: table %q: %w", t.Name, err)
	}
	return b, nil
}

// UnmarshalTable reads what MarshalTable wrote.
func UnmarshalTable(b []byte) (*Table, error) {
	p := &pb.Table{}
	if err := proto.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("catalog: a table's definition is damaged: %w", err)
	}
	return decodeTable(p)
}
