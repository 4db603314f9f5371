package catalog

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/raftgroup"
)

// maxVoters is the number of nodes that vote in the catalog's group. All other nodes are learners.
const maxVoters = 5

// voterGrace is how long a voter may be unreachable before another node replaces it.
const voterGrace = 30 * time.Second

// candidate is a node as it matters to the choice of voters.
type candidate struct {
	id    uint32
	zone  string
	votes bool // at present
	there bool // it answers, or has not been silent for long
	may   bool // it may vote: it is not a gateway and is not being drained
}

// voterCount is how many of n nodes vote. Four are no safer than three.
func voterCount(n int) int {
	switch {
	case n >= maxVoters:
		return maxVoters
	case n == 4:
		return 3
	}
	return n
}

// chooseVoters returns the nodes that should vote: first present voters that answer, then other
// nodes that answer, with zones that have no voter first, then present voters that do not answer.
// No node loses its vote unless another node can take it.
func chooseVoters(nodes []candidate) []uint32 {
	var may []candidate
	for _, n := range nodes {
		if n.may {
			may = append(may, n)
		}
	}
	desired := voterCount(len(may))
	var out []uint32
	zones := map[string]int{}
	take := func(fits func(candidate) bool) {
		for len(out) < desired {
			best := -1
			for i, n := range may {
				if !slices.Contains(out, n.id) && fits(n) && (best < 0 || zones[n.zone] < zones[may[best].zone]) {
					best = i
				}
			}
			if best < 0 {
				return
			}
			out = append(out, may[best].id)
			zones[may[best].zone]++
		}
	}
	take(func(n candidate) bool { return n.votes && n.there })
	take(func(n candidate) bool { return n.there })
	take(func(n candidate) bool { return n.votes })
	slices.Sort(out)
	return out
}

// desired returns the nodes that should be members of the catalog's group. The leader calls it.
func (c *Catalog) desired() raftgroup.Membership {
	v := c.View()
	if v.Cluster() == nil {
		return raftgroup.Membership{}
	}
	votes, lead := map[uint32]bool{}, time.Unix(0, c.leadSince.Load())
	for _, s := range c.group.Members() {
		votes[nodeOf(s.ID)] = s.Suffrage == raft.Voter
	}
	var nodes []candidate
	for n := range v.Nodes() {
		id := serverID(n.ID)
		if n.NodeAddr == "" && id != c.group.ID() || n.State == NodeLost {
			continue
		}
		heard := c.group.Progress(id).Contact
		if heard.Before(lead) {
			heard = lead
		}
		nodes = append(nodes, candidate{
			id: n.ID, zone: n.Labels["zone"], votes: votes[n.ID], there: time.Since(heard) < c.opts.VoterGrace,
			may: n.HoldsFragments(),
		})
	}
	var w raftgroup.Membership
	voters := chooseVoters(nodes)
	for _, n := range nodes {
		if slices.Contains(voters, n.id) {
			w.Voters = append(w.Voters, serverID(n.id))
		} else {
			w.Nonvoters = append(w.Nonvoters, serverID(n.id))
		}
	}
	return w
}

// Contact is the time at which a node last answered, as far as the catalog's leader knows.
type Contact struct {
	Last   time.Time     // zero if the node has not answered since this node leads
	Silent time.Duration // time since then, or since this node leads
}

// Contact returns the last contact with a node. ok is false if this node does not lead the catalog.
func (c *Catalog) Contact(node uint32) (k Contact, ok bool) {
	if c.group.Term() == 0 {
		return k, false
	}
	k.Last = c.group.Progress(serverID(node)).Contact
	from := k.Last
	if lead := time.Unix(0, c.leadSince.Load()); from.Before(lead) {
		k.Last, from = time.Time{}, lead
	}
	k.Silent = time.Since(from)
	return k, true
}

// Leader returns the node that leads the catalog, as far as this node knows, 0 if none does.
func (c *Catalog) Leader() uint32 {
	id, _ := c.group.Leader()
	return nodeOf(id)
}

// HandOver transfers leadership to another voter, if this node leads and there is another.
func (c *Catalog) HandOver(ctx context.Context) error {
	if c.opts.Transport == nil || c.group.Term() == 0 || len(c.Voters()) < 2 {
		return nil
	}
	return c.group.Transfer(ctx, nil)
}

// Leads reports whether this node leads the catalog.
func (c *Catalog) Leads() bool { return c.group.Term() != 0 }

// Self is this node's number, 0 if the catalog has no replicas elsewhere.
func (c *Catalog) Self() uint32 {
	if c.opts.Forward == nil {
		return 0
	}
	return nodeOf(c.group.ID())
}

// Voters returns the nodes that vote in the catalog's group, as far as this node knows.
func (c *Catalog) Voters() []uint32 {
	var out []uint32
	for _, s := range c.group.Members() {
		if s.Suffrage == raft.Voter {
			out = append(out, nodeOf(s.ID))
		}
	}
	return out
}

// serverID returns the Raft id of a node: its number as text.
func serverID(node uint32) raft.ServerID { return raft.ServerID(strconv.FormatUint(uint64(node), 10)) }

// nodeOf returns the node with a Raft id, 0 if it is not the id of a node.
func nodeOf(id raft.ServerID) uint32 {
	n, err := strconv.ParseUint(string(id), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}
