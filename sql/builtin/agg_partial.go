package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// pack makes the bytea of a partial state.
func pack(parts ...types.Datum) types.Datum {
	var b []byte
	for _, p := range parts {
		b = types.AppendDatum(b, p)
	}
	return types.NewBytes(string(b))
}

// unpack reads n parts of a partial state; n < 0 reads all.
func unpack(partial types.Datum, n int) ([]types.Datum, error) {
	var parts []types.Datum
	for b := []byte(partial.S); len(b) > 0; {
		d, rest, err := types.DecodeDatum(b)
		if err != nil {
			return nil, err
		}
		parts, b = append(parts, d), rest
	}
	if n >= 0 && len(parts) != n {
		return nil, pgerr.New(pgerr.DataCorrupted, "partial aggregate state has %d parts, not %d", len(parts), n)
	}
	return parts, nil
}
