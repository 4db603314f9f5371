package shardmap

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// CompleteID completes the id of a new document if its client left that to the server: an id that
// is omitted ("") becomes table/number-block, one that ends in "/" gets number-block appended, and
// so does the part before a "$" at the end (orders/$ → orders/17-A$, which Place then settles).
// completed is false, and id comes back as it is, if nothing was left to the server. number must be
// unique in the block.
func CompleteID(table, id string, number uint64, block string) (full string, completed bool) {
	base, placement := strings.CutSuffix(id, "$")
	switch {
	case id == "":
		base = table + "/"
	case !strings.HasSuffix(base, "/"):
		return id, false
	}
	full = base + strconv.FormatUint(number, 10) + "-" + block
	if placement {
		full += "$"
	}
	return full, true
}

// AnchorNewID returns a new document the anchor that WITH (anchor_by = field) asks for: "$" and the
// field's value. An id that has an anchor already, or asks for placement, keeps what it has. Error:
// 22023 for a value that is missing, empty, an array or an object, or that makes no id.
func AnchorNewID(rules Prefixes, id, field string, v Value) (string, error) {
	p, err := rules.ParseID(id)
	if err != nil || p.Kind != WholeID {
		return id, err
	}
	if (v.Kind != TextValue && v.Kind != NumberValue) || v.Text == "" {
		return "", pgerr.New(pgerr.InvalidParameterValue, "cannot anchor id %s", quoteID(id)).
			WithDetail("Field %s, which anchor_by names, holds no value that could be an anchor.", quoteID(field)).
			WithHint("Set the field, or write the anchor into the id: %s.", quoteID(id+"$customers/1-A"))
	}
	anchored := id + "$" + v.Text
	a, err := rules.ParseID(anchored)
	if err != nil {
		return "", err
	}
	if a.Kind == PlacementID {
		return "", noPlacement(anchored)
	}
	return anchored, nil
}
