package catalog

import (
	"encoding/json"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// PrefixOption is the storage parameter that carries the rules for prefixes in a dump. Ids may name
// their buckets, so restored rows need the same rules with the same buckets.
const PrefixOption = "shard_prefixes"

// writtenRule is a rule for a prefix in that parameter. Fragments are given by their ordinals,
// because their names contain the name of the database.
type writtenRule struct {
	Prefix    string `json:"prefix"`
	First     uint32 `json:"first_bucket"`
	Buckets   uint32 `json:"buckets"`
	Fragments []int  `json:"fragments"`
}

// PrefixText prints the rules of a database.
func (d *Database) PrefixText() string {
	var list []writtenRule
	for _, r := range d.Prefixes {
		w := writtenRule{Prefix: r.Text, First: r.Lo, Buckets: r.Hi - r.Lo}
		for _, f := range r.Fragments {
			if x := d.FragmentByID(f); x != nil {
				w.Fragments = append(w.Fragments, x.Ordinal)
			}
		}
		list = append(list, w)
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return string(text)
}

// ParsePrefixText parses the output of PrefixText, for this database. A rule gets the fragments
// with the same ordinals, or all fragments if the database has none of them.
func (d *Database) ParsePrefixText(text string) (out []PrefixRule, err error) {
	var list []writtenRule
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, `invalid value for option "%s": %s`, PrefixOption, text)
	}
	for _, w := range list {
		folded, err := shardmap.FoldPrefix(w.Prefix)
		if err != nil {
			return nil, err
		}
		r := PrefixRule{Prefix: shardmap.Prefix{Text: folded,
			Interval: shardmap.Interval{Lo: w.First, Hi: w.First + w.Buckets}}}
		if w.First < shardmap.BucketCount || w.Buckets == 0 || w.Buckets > shardmap.MaxPrefixBuckets ||
			w.First >= shardmap.BucketLimit-w.Buckets {
			return nil, pgerr.New(pgerr.InvalidParameterValue, `prefix "%s" cannot have %d buckets from %d`, folded,
				w.Buckets, w.First)
		}
		takers := d.Takers()
		for _, f := range takers {
			if slices.Contains(w.Fragments, d.FragmentByID(f).Ordinal) {
				r.Fragments = append(r.Fragments, f)
			}
		}
		if len(r.Fragments) == 0 || len(r.Fragments) > int(w.Buckets) {
			r.Fragments = takers[:min(len(takers), int(w.Buckets))]
		}
		r.Fragments = slices.Sorted(slices.Values(r.Fragments))
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b PrefixRule) int { return int(a.Lo) - int(b.Lo) })
	return out, nil
}

// MissingPrefixes returns the rules of a list that the database does not have. It returns an error
// if the database has such a rule with other buckets.
func (d *Database) MissingPrefixes(rules []PrefixRule) (out []PrefixRule, err error) {
	for _, r := range rules {
		switch had := d.PrefixRule(r.Text); {
		case had == nil:
			out = append(out, r)
		case had.Interval != r.Interval:
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`prefix "%s" has buckets %v in database "%s", and %v where the table comes from`,
				r.Text, had.Interval, d.Name, r.Interval).
				WithDetail("Ids of the table may name their buckets.").
				WithHint("Restore into an empty database, or leave option %s out if no id names a bucket above %d.",
					PrefixOption, shardmap.BucketCount-1)
		}
	}
	return out, nil
}

// RestorePrefixes adds rules with the buckets that they had in another database. The change must
// then put all hashed tables of the database.
func (c *Change) RestorePrefixes(database OID, rules []PrefixRule, a Author) error {
	for _, r := range rules {
		d := c.current(c.base.Database(database))
		next, err := d.Map.AssignAt(r.Fragments, r.Interval)
		if err != nil {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`buckets %v of prefix "%s" are given out already in database "%s"`, r.Interval, r.Text, d.Name).
				WithHint("Restore into an empty database.")
		}
		d.Map = next
		if err := c.PutDatabase(d); err != nil {
			return err
		}
		if err := c.AddPrefix(database, r, a); err != nil {
			return err
		}
	}
	return nil
}
