package sysview

import (
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
)

// Replica is a replica of a fragment, as the fragment's leader sees it.
type Replica struct {
	Fragment uint32
	Node     uint32
	Leads    bool
	Voter    bool
	Lag      uint64    // log entries that it has not acknowledged
	Contact  time.Time // of its last response; zero if this leader has none
	Term     uint64
}

// Health is a node's knowledge about another node.
type Health struct {
	Node     uint32
	Alive    bool
	LastSeen time.Time     // zero: never
	Ahead    time.Duration // of its clock
	RTT      time.Duration
}

// nodes is sherd.nodes.
func nodes(b *builder) error {
	replicas, leads := map[uint32]int64{}, map[uint32]int64{} // by node, over all databases
	for d := range b.env.View.Databases() {
		for i := range d.Fragments {
			for _, n := range d.Fragments[i].Nodes {
				replicas[n]++
			}
		}
	}
	for _, r := range b.env.Replicas() {
		if r.Leads {
			leads[r.Node]++
		}
	}
	health := map[uint32]Health{}
	for _, h := range b.env.Health() {
		health[h.Node] = h
	}
	leader, voters := b.env.CatalogRoles()
	for n := range b.env.View.Nodes() {
		r := b.row().int("id", int64(n.ID)).text("name", n.Name).text("block", n.Block).optional("sql_addr", n.SQLAddr).
			optional("node_addr", n.NodeAddr).optional("http_addr", n.HTTPAddr).json("labels", labelsJSON(n.Labels)).
			text("role", nodeRole(n)).text("state", nodeState(n)).optional("release", n.Release).
			int("replicas", replicas[n.ID]).
			int("leads", leads[n.ID]).text("catalog", catalogRole(n.ID, leader, voters)).
			set("weight", types.NewFloat8(weightOf(n)))
		if n.MaxBytes > 0 {
			r.int("max_bytes", int64(n.MaxBytes))
		}
		h, other := health[n.ID]
		switch {
		case other:
			r.bool("alive", h.Alive).time("last_seen", h.LastSeen).set("rtt", interval(h.RTT)).
				set("clock_ahead", interval(h.Ahead))
		default:
			r.bool("alive", n.Name == b.env.NodeName)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

func interval(d time.Duration) types.Datum { return types.NewInterval(0, 0, d.Microseconds()) }

// catalogRole returns a node's role in the catalog's Raft group, which all nodes are members of.
func catalogRole(node, leader uint32, voters []uint32) string {
	switch {
	case node == leader:
		return "leader"
	case slices.Contains(voters, node):
		return "voter"
	}
	return "learner"
}

// weightOf returns the weight for the balancer, which is 1 by default.
func weightOf(n *catalog.Node) float64 {
	if n.Weight > 0 {
		return n.Weight
	}
	return 1
}

func nodeRole(n *catalog.Node) string {
	if n.Gateway {
		return "gateway"
	}
	return "all"
}

func nodeState(n *catalog.Node) string {
	switch n.State {
	case catalog.NodeDraining:
		return "draining"
	case catalog.NodeLost:
		return "lost"
	}
	return "active"
}

const (
	silence = 5 * time.Second // after which a replica counts as not responding
	behind  = 1000            // entries: some are always in flight
)

// replicaRows is sherd.replicas: the replicas that leaders report, and for fragments without a
// leader those in the catalog.
func replicaRows(b *builder) error {
	led := map[uint32]bool{}
	d := b.env.Database
	for _, x := range b.env.Replicas() {
		f := d.FragmentByID(x.Fragment)
		if f == nil {
			continue
		}
		led[x.Fragment] = true
		role, state := "voter", "up to date"
		switch {
		case x.Leads:
			role = "leader"
		case !x.Voter:
			role = "learner"
		}
		switch {
		case x.Leads:
		case time.Since(x.Contact) > silence:
			state = "no answer"
		case x.Lag > behind:
			state = "behind"
		}
		r := b.replica(f, x.Node).text("role", role).text("state", state).int("lag", int64(x.Lag)).
			int("term", int64(x.Term))
		if !x.Leads {
			r.time("last_contact", x.Contact)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	for i := range d.Fragments {
		f := &d.Fragments[i]
		if led[f.ID] {
			continue
		}
		for _, n := range f.Nodes {
			if err := b.replica(f, n).text("role", "voter").text("state", "no leader").send(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) replica(f *catalog.Fragment, node uint32) *record {
	r := b.row().text("fragment", b.env.Database.FragmentName(f))
	if n := b.env.View.Node(node); n != nil {
		r.text("node", n.Name)
	}
	return r
}

// fragmentHealth returns the leader of a fragment and the fragment's state.
func (e *Env) fragmentHealth(f *catalog.Fragment, replicas []Replica) (leader, state string) {
	answering := 0
	for _, r := range replicas {
		if r.Fragment != f.ID {
			continue
		}
		if r.Leads {
			if n := e.View.Node(r.Node); n != nil {
				leader = n.Name
			}
		}
		if r.Leads || time.Since(r.Contact) <= silence {
			answering++
		}
	}
	if leader == "" {
		return "", "no leader"
	}
	return leader, replicaState(answering, e.Database.Factor(f))
}

// Authority is one of the cluster's certificate authorities.
type Authority struct {
	Name       string // its fingerprint
	Phase      string // announced, signing, retiring
	Since      time.Time
	Expires    time.Time
	WaitsFor   []string  // nodes that its replacement waits for
	WaitsUntil time.Time // the end of join tokens that its replacement waits for; zero if none
	// Certificate is its certificate, PEM.
	Certificate string
}

// authorities is sherd.authorities.
func authorities(b *builder) error {
	if b.env.Authorities == nil {
		return nil
	}
	list, err := b.env.Authorities()
	if err != nil {
		return err
	}
	for _, a := range list {
		r := b.row().text("authority", a.Name).text("phase", a.Phase).time("since", a.Since).time("expires", a.Expires).
			texts("waits_for", a.WaitsFor).
			text("certificate", a.Certificate)
		if !a.WaitsUntil.IsZero() {
			r.time("waits_until", a.WaitsUntil)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}
