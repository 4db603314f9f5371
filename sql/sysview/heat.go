package sysview

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
)

// Heat is how often something is used in a fragment: a row, a bucket, or all of it.
type Heat struct {
	Fragment      uint32
	Bucket        int64   // -1: all of the fragment
	Key           []byte  // of a row as storage has it; nil: none
	Reads, Writes float64 // a second

	// What sessions know of a row.
	Collection catalog.OID
	Text       string
	Part       bool // it is of a part of a split document, which is what Collection and Text name
}

// maxHot is how many rows the views have.
const maxHot = 100

// hot gives the most used of what wanted chooses in this database, and how often all of the database is used.
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
	return r.int("bucket", x.Bucket).float("reads", rounded(x.Reads)).float("writes", rounded(x.Writes)).float("share", rounded(share))
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

// hotKeys is sherd.hot_keys. Keys are told to those who may read the rows.
func hotKeys(b *builder) error {
	list, all := b.hot(func(x Heat) bool { return x.Collection != 0 })
	for _, x := range list {
		r := b.row().oid("collection", x.Collection).text("fragment", b.env.fragmentName(x.Fragment))
		share := 0.0
		if all > 0 {
			share = (x.Reads + x.Writes) / all
		}
		if b.reads(x.Collection) {
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

// rounded leaves three places: what is told is an estimate.
func rounded(f float64) float64 { return float64(int64(f*1000+0.5)) / 1000 }
