package sysview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// hotDocuments is sherd.hot_documents: documents with split counters, of tables that the session
// may read. A deleted document is not listed, even if the definition still has it.
func hotDocuments(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		if t.Hot == nil || !b.canSee(t.Owner) {
			return nil
		}
		split, err := b.env.Hot.Split(t)
		if err != nil {
			return err
		}
		for _, d := range t.Hot.Documents {
			if d.Joined != 0 || !split[d.Number] {
				continue
			}
			var counters []string
			for _, n := range d.Counters {
				counters = append(counters, t.Hot.Counters[n].Name(t))
			}
			err := b.row().oid("collection", t.OID).text("id", d.ID).int("parts", int64(len(d.Parts))).
				texts("counters", counters).
				time("since", time.UnixMicro(d.Since)).text("who", d.Who).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// A row is reported above the first share of all accesses, and counts as written above the second
// share of its own accesses.
const (
	hotShare     = 0.1
	writtenShare = 0.3
)

// hotRemedy returns the remedy for a row that is used much; it is empty for others.
func (e *Env) hotRemedy(x Heat, share float64) (Remedy, error) {
	t := e.View.Table(x.Collection)
	if t == nil || share < hotShare {
		return Remedy{}, nil
	}
	if split, err := e.isSplit(t, x.Text); err != nil || split && !x.Part {
		return Remedy{}, err
	}
	return e.hotAdvice(t, x), nil
}

// hotAdvice returns the remedy for a row that is used much.
func (e *Env) hotAdvice(t *catalog.Table, x Heat) Remedy {
	name, id := builtin.QuoteLiteral(e.qualified(t.Schema, t.Name)), builtin.QuoteLiteral(x.Text)
	switch {
	case x.Part:
		return Remedy{Advice: fmt.Sprintf(
			"its counters are split; when it is used less, SELECT sherd.hot_join(%s, %s) makes it whole", name, id)}
	case x.Writes < (x.Reads+x.Writes)*writtenShare:
		return Remedy{"SET sherd.read_staleness = '1s'",
			"reads that may be a little old are served by the row's replicas too"}
	case t.PrimaryKey() == nil || len(t.PrimaryKey().Columns) != 1 || !countable(t):
		return Remedy{}
	}
	counters, err := e.Hot.Counters(t, x.Text, uint32(x.Bucket))
	if err != nil {
		return Remedy{Advice: unsplit(pgerr.From(err))}
	}
	named := ""
	if len(counters) > 0 {
		list := make([]string, len(counters))
		for i, c := range counters {
			list[i] = builtin.QuoteLiteral(c)
		}
		named = fmt.Sprintf(", 16, ARRAY[%s]", strings.Join(list, ", "))
	}
	return Remedy{fmt.Sprintf("SELECT sherd.hot_split(%s, %s%s)", name, id, named),
		"what is added to the counters of the row is spread over parts in all fragments"}
}

// unsplit returns the reason why the counters of a row cannot be split.
func unsplit(err *pgerr.Error) string {
	if err.Hint == "" {
		return err.Message
	}
	return err.Message + ": " + strings.TrimSuffix(err.Hint, ".")
}

// isSplit reports whether a document is split now: its use before the split is still counted for
// some time.
func (e *Env) isSplit(t *catalog.Table, id string) (bool, error) {
	if t.Hot == nil {
		return false, nil
	}
	at := slices.IndexFunc(t.Hot.Documents, func(d catalog.HotDocument) bool { return d.Joined == 0 && d.ID == id })
	if at < 0 {
		return false, nil
	}
	split, err := e.Hot.Split(t)
	return split[t.Hot.Documents[at].Number], err
}

// countable reports whether a table may have counters.
func countable(t *catalog.Table) bool {
	for _, c := range t.Columns {
		switch c.Type {
		case types.Int2, types.Int4, types.Int8, types.Numeric, types.JSONB:
			if !c.Dropped && c.Generated == "" {
				return true
			}
		}
	}
	return false
}

// sumUse sums the reads and writes of the buckets [from, to) of a fragment, as far as they are
// counted: the most used ones are.
func sumUse(list []Heat, fragment uint32, from, to int64) (reads, writes float64) {
	for _, x := range list {
		if x.Fragment == fragment && x.Key == nil && x.Bucket >= from && x.Bucket < to {
			reads, writes = reads+x.Reads, writes+x.Writes
		}
	}
	return rounded(reads), rounded(writes)
}
