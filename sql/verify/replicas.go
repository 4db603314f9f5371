package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/txn"
)

// Replica is the state of one replica of a fragment at a timestamp common to all replicas.
type Replica struct {
	Node  string
	Leads bool
	Keys  int64
	Sum   string // of all keys and values
	// Missed is the reason why it was not compared. That is a fault unless Excused is set: the
	// replica is known to be away, or is joining or leaving.
	Missed  string
	Excused bool
}

// Replicas compares the replicas of a fragment. The state of the majority is assumed to be right;
// without majority, the leader's.
func (c *Check) Replicas(fragment txn.FragmentID, replicas []Replica) {
	name := c.fragmentName(fragment)
	f := c.finding(checkReplicas, name, "")
	var compared []Replica
	for _, r := range replicas {
		switch {
		case r.Missed == "":
			compared = append(compared, r)
		case r.Excused:
			f.notes = append(f.notes, fmt.Sprintf("node %s was not compared: %s", r.Node, r.Missed))
		default:
			c.fault(checkReplicas, name, "node %s could not be compared: %s", r.Node, r.Missed)
		}
	}
	if len(compared) == 0 {
		c.fault(checkReplicas, name, "no replica could be compared")
		return
	}
	right := prevailing(compared)
	var with []string
	for _, r := range compared {
		if r.same(right) {
			with = append(with, r.Node)
		}
	}
	slices.Sort(with)
	for _, r := range compared {
		if !r.same(right) {
			c.fault(checkReplicas, name, "node %s differs: it has %s; %s: %s", r.Node, r.content(),
				strings.Join(with, ", "), right.content())
		}
	}
	noun := "replicas"
	if len(compared) == 1 {
		noun = "replica"
	}
	f.said = fmt.Sprintf("%d %s, %s", len(compared), noun, right.content())
}

// prevailing returns a replica of the largest group with the same state, preferably the leader.
func prevailing(list []Replica) Replica {
	votes := func(r Replica) (n int) {
		for _, other := range list {
			if r.same(other) {
				n += 2
				if other.Leads {
					n++
				}
			}
		}
		return n
	}
	return slices.MaxFunc(list, func(a, b Replica) int { return cmp.Compare(votes(a), votes(b)) })
}

func (r Replica) same(o Replica) bool { return r.Keys == o.Keys && r.Sum == o.Sum }

// shownSum is the shown length of a checksum: enough to see that two differ.
const shownSum = 16

func (r Replica) content() string {
	return fmt.Sprintf("%d keys, checksum %s", r.Keys, r.Sum[:min(len(r.Sum), shownSum)])
}
