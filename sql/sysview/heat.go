package sysview

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
)

// Heat is how often a row, a bucket or a whole fragment is used.
type Heat struct {
	Fragment      uint32
	Bucket        int64   // -1 means the whole fragment
	Key           []byte  // of a row, as storage has it; nil for others
	Reads, Writes float64 // per second

	// What sessions know about a row.
	Collection catalog.OID
	Text       string
	Part       bool // a part of a split document, which Collection and Text name
}

// maxHot is the number of rows in the views.
const maxHot = 100

// hot returns the most used items of this database that wanted selects, and the use of the whole
// database.
func (b *builder) hot(wanted func(Heat) bool) (out []Heat, all float64) {
	for _, x := range b.env.Heat() {
		switch {
		case b.env.Database.FragmentByID(x.Fragment) == nil:
		case x.Bucket < 0:
			all += x.Reads + x.Writes
		case wanted(x):
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b Heat) int { return cmp.Compare(b.Reads+b.Writes, a.Reads+a.Writes) })
	return out[:min(len(out), maxHot)], all
}

func (r *record) heat(x Heat, all float64) *record {
	share := 0.0
	if all > 0 {
		share = min(1, (x.Reads+x.Writes)/all)
	}
	return r.int("bucket", x.Bucket).float("reads", rounded(x.Reads)).float("writes", rounded(x.Writes)).
		float("share", rounded(share))
}

// hotBuckets is sherd.hot_buckets.
func hotBuckets(b *builder) error {
	list, all := b.hot(func(x Heat) bool { return x.Key == nil })
	for _, x := range list {
		if err := b.row().text("fragment", b.env.fragmentName(x.Fragment)).heat(x, all).send(); err != nil {
			return err
		}
	}
	return nil
}

// hotKeys is sherd.hot_keys. Keys are visible to sessions that may read the rows.
func hotKeys(b *builder) error {
	list, all := b.hot(func(x Heat) bool { return x.Collection != 0 })
	for _, x := range list {
		r := b.row().oid("collection", x.Collection).text("fragment", b.env.fragmentName(x.Fragment))
		share := 0.0
		if all > 0 {
			share = (x.Reads + x.Writes) / all
		}
		if b.canRead(x.Collection) {
			remedy, err := b.env.hotRemedy(x, share)
			if err != nil {
				return err
			}
			r.text("key", x.Text).remedy(remedy)
		}
		if err := r.heat(x, all).send(); err != nil {
			return err
		}
	}
	return nil
}

// rounded rounds to three decimal places, because the numbers are estimates.
func rounded(f float64) float64 { return float64(int64(f*1000+0.5)) / 1000 }
