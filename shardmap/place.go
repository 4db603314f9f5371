package shardmap

import (
	"fmt"
	"strings"
)

// Place settles the id of a document that is inserted. An id that ends in "$" is rewritten:
// orders/1-A$ to orders/1-A$@982173, the bucket being the content's block plus the own bucket of
// the id without "$", folded into the block. Any other id stays. The caller validates the result
// with Check. p may be nil: then an id that asks for placement is 22023.
func (p *Policy) Place(rules Prefixes, table, id string, values []Value) (ID, error) {
	parsed, err := rules.ParseID(id)
	if err != nil || parsed.Kind != PlacementID {
		return parsed, err
	}
	if p == nil {
		return ID{}, noPlacement(id)
	}
	b, err := p.ContentBucket(rules, table, parsed.Bucket, values)
	if err != nil {
		return ID{}, err
	}
	placed := p.Block(rules, b).Fold(parsed.fold)
	anchor := fmt.Sprintf("@%d", placed)
	return ID{
		Text: parsed.Text + anchor, Base: parsed.Base, Anchor: anchor, Kind: ExplicitID, Bucket: placed,
	}, nil
}

// Check validates a row that is about to be stored under id with these values: its bucket must lie
// in the block of its content. It is 23514 otherwise, and 22023 for an id that ends in "$", which
// only an insert may have and Place has rewritten. A nil or mutable policy checks the id alone.
func (p *Policy) Check(rules Prefixes, table string, id ID, values []Value) error {
	if id.Kind == PlacementID {
		e := noPlacement(id.Text)
		if p != nil {
			e.Hint = fmt.Sprintf("Write the whole id, or name an anchor as in %s.", quoteID(id.Text+"customers/1-A"))
		}
		return e
	}
	if p == nil || p.Mutable || p.IsID() {
		return nil
	}
	b, err := p.ContentBucket(rules, table, id.Bucket, values)
	if err != nil {
		return err
	}
	if block := p.Block(rules, b); !block.Contains(id.Bucket) {
		return p.misplaced(rules, table, id, values, b, block)
	}
	return nil
}

// misplaced explains a row whose id lies outside the block of its content.
func (p *Policy) misplaced(rules Prefixes, table string, id ID, values []Value, content Bucket, block Interval) error {
	plural, verb, allowed := "", "belongs", fmt.Sprintf("bucket %d", content)
	if block.Len() > 1 {
		allowed = fmt.Sprintf("buckets %d to %d (its own is %d)", block.Lo, block.Hi-1, content)
	}
	if len(p.Fields) > 1 {
		plural, verb = "s", "belong"
	}
	names, texts := make([]string, len(values)), make([]string, len(values))
	for i, v := range values {
		names[i], texts[i] = quoteID(p.Fields[i].PathString()), quoteID(v.Text)
		if v.Kind == MissingValue {
			texts[i] = "null"
		}
	}
	e := violation(table).WithDetail("Field%s %s with value%s %s %s in %s, but id %s lies in bucket %d. Legal ids: %s.",
		plural, strings.Join(names, ", "), plural, strings.Join(texts, ", "), verb, allowed, quoteID(id.Text),
		id.Bucket,
		strings.Join(p.legalIDs(rules, id, values, content, block), ", "))
	return e.WithHint("Insert the document as %s and the server chooses the bucket; "+
		"a document that is there already must be deleted and inserted again.",
		quoteID(id.Base+"$"))
}

// legalIDs lists, quoted, ids of the same base that the policy accepts: anchored to the value where
// that hits the block, and explicit.
func (p *Policy) legalIDs(rules Prefixes, id ID, values []Value, content Bucket, block Interval) []string {
	var out []string
	if len(values) == 1 {
		anchored, err := rules.ParseID(id.Base + "$" + values[0].Text)
		if err == nil && anchored.Kind == AnchoredID && block.Contains(anchored.Bucket) {
			out = append(out, quoteID(anchored.Text))
		}
	}
	return append(out, quoteID(fmt.Sprintf("%s$@%d", id.Base, content)))
}
