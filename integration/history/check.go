package history

import (
	"fmt"
	"slices"
	"strings"
)

// Anomaly is something that must not happen.
type Anomaly struct {
	Kind   string // "lost", "G-single" …
	Detail string
}

func (a Anomaly) String() string { return a.Kind + ": " + a.Detail }

// maxShown bounds how many anomalies of a kind are reported.
const maxShown = 5

// checker checks one history.
type checker struct {
	txns    []*Transaction
	final   map[string][]int       // the lists at the end
	writers map[write]*Transaction // of every append
	place   map[write]int          // of a value in its final list
	last    map[keyTxn]int         // the last value that a transaction appended to a key
	found   map[string]int         // anomalies by kind
	out     []Anomaly
}

type write struct {
	key   string
	value int
}

type keyTxn struct {
	key string
	id  int
}

// Check returns the anomalies of a history. final has the lists of all keys, read after all
// transactions had ended.
func Check(txns []*Transaction, final map[string][]int) []Anomaly {
	c := &checker{
		final: final, writers: map[write]*Transaction{}, place: map[write]int{}, last: map[keyTxn]int{},
		found: map[string]int{},
	}
	c.collect(txns)
	c.checkFinal()
	c.settleUnknown(txns)
	for _, t := range c.txns {
		c.checkReads(t)
	}
	c.checkStale()
	c.checkCycles()
	return c.out
}

func (c *checker) report(kind, format string, args ...any) {
	if c.found[kind]++; c.found[kind] <= maxShown {
		c.out = append(c.out, Anomaly{kind, fmt.Sprintf(format, args...)})
	}
}

// collect records the writer of each value.
func (c *checker) collect(txns []*Transaction) {
	for _, t := range txns {
		for _, op := range t.Ops {
			if !op.Append {
				continue
			}
			w := write{op.Key, op.Value}
			if other := c.writers[w]; other != nil {
				panic(fmt.Sprintf("history: %d is appended to %s by transactions %d and %d", op.Value, op.Key, other.ID,
					t.ID))
			}
			c.writers[w] = t
			c.last[keyTxn{op.Key, t.ID}] = op.Value
		}
	}
	for key, list := range c.final {
		for i, v := range list {
			w := write{key, v}
			if _, ok := c.place[w]; ok {
				c.report("doubled", "%d is in %s more than once: %v", v, key, list)
			}
			c.place[w] = i
		}
	}
}

// checkFinal compares the lists at the end with the outcomes.
func (c *checker) checkFinal() {
	for w, t := range c.writers {
		if _, there := c.place[w]; !there && t.Outcome == Committed {
			c.report("lost", "%d of %s, appended by transaction %d, is not in %v", w.value, w.key, t.ID, c.final[w.key])
		}
	}
	for w := range c.place {
		switch t := c.writers[w]; {
		case t == nil:
			c.report("invented", "nobody appended %d to %s", w.value, w.key)
		case t.Outcome == Aborted:
			c.report("aborted", "%d is in %s, but transaction %d was aborted", w.value, w.key, t.ID)
		}
	}
}

// settleUnknown treats transactions of unknown outcome as committed if their writes are in the
// lists. All writes must be there, or none.
func (c *checker) settleUnknown(txns []*Transaction) {
	for _, t := range txns {
		there, missing := 0, 0
		for _, op := range t.Ops {
			if !op.Append {
				continue
			}
			if _, ok := c.place[write{op.Key, op.Value}]; ok {
				there++
			} else {
				missing++
			}
		}
		if there > 0 && missing > 0 && t.Outcome != Committed {
			c.report("torn", "of transaction %d %d writes are there and %d are not", t.ID, there, missing)
		}
		if t.Outcome == Committed || t.Outcome == Unknown && there > 0 {
			c.txns = append(c.txns, t)
		}
	}
}

// checkReads compares a transaction's reads with the order of versions and with its own writes.
func (c *checker) checkReads(t *Transaction) {
	own := map[string][]int{}
	for _, op := range t.Ops {
		if op.Append {
			own[op.Key] = append(own[op.Key], op.Value)
			continue
		}
		// After its first write, the lock on the row keeps others from appending.
		others := c.foreign(t, op)
		if mine := op.List[len(others):]; !slices.Equal(mine, own[op.Key]) {
			c.report("internal", "transaction %d read %v of %s after appending %v", t.ID, op.List, op.Key, own[op.Key])
		}
		if final := c.final[op.Key]; len(others) > len(final) || !slices.Equal(others, final[:len(others)]) {
			c.report("order", "transaction %d read %v of %s, which ends as %v", t.ID, op.List, op.Key, final)
		}
		c.checkAborted(t, op, others)
		if n := len(others); n > 0 {
			v := others[n-1]
			if w := c.writers[write{op.Key, v}]; w != nil && w != t && c.last[keyTxn{op.Key, w.ID}] != v {
				c.report("intermediate", "transaction %d read %s up to %d, and its writer %d appended more", t.ID,
					op.Key, v, w.ID)
			}
		}
	}
}

// checkAborted looks for values of aborted transactions. If they are in the list at the end,
// checkFinal has found them.
func (c *checker) checkAborted(t *Transaction, op Op, others []int) {
	final := c.final[op.Key]
	for i, v := range others {
		if i < len(final) && final[i] == v {
			continue
		}
		if w := c.writers[write{op.Key, v}]; w != nil && w.Outcome == Aborted {
			c.report("aborted", "transaction %d read %d of %s, whose writer %d was aborted", t.ID, v, op.Key, w.ID)
		}
	}
}

// foreign returns what a read saw before the transaction's own writes.
func (c *checker) foreign(t *Transaction, op Op) []int {
	if _, wrote := c.last[keyTxn{op.Key, t.ID}]; !wrote {
		return op.List
	}
	for i, v := range op.List {
		if c.writers[write{op.Key, v}] == t {
			return op.List[:i]
		}
	}
	return op.List
}

// checkStale looks for reads that miss values that were acknowledged before they began.
func (c *checker) checkStale() {
	type ack struct {
		place int
		end   int64
	}
	acks := map[string][]ack{} // by key, in the order of versions
	for key, list := range c.final {
		for i, v := range list {
			if t := c.writers[write{key, v}]; t != nil && t.Outcome == Committed {
				acks[key] = append(acks[key], ack{i, int64(t.End)})
			}
		}
	}
	for _, t := range c.txns {
		for _, op := range t.Ops {
			if op.Append {
				continue
			}
			began := op.Start
			if t.Level != ReadCommitted {
				began = t.Start
			}
			for _, a := range acks[op.Key] {
				if a.end < int64(began) && a.place >= len(op.List) {
					c.report("stale", "transaction %d read %v of %s, and %d had been acknowledged %v before it began",
						t.ID, op.List, op.Key, c.final[op.Key][a.place], began-c.writers[write{op.Key,
							c.final[op.Key][a.place]}].End)
					break
				}
			}
		}
	}
}

// Kinds returns the kinds of anomalies, without duplicates.
func Kinds(as []Anomaly) string {
	var kinds []string
	for _, a := range as {
		if !slices.Contains(kinds, a.Kind) {
			kinds = append(kinds, a.Kind)
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}
