package distexec

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/exec"
)

// Config says whose transactions a Gateway opens. Nodes is nil if there are no other nodes.
type Config struct {
	Node    uint32 // this one
	Catalog *catalog.Catalog
	Client  *kv.Client
	Here    *fragment.Server
	Nodes   *remote.Nodes // the other ones
}

// Gateway opens transactions and runs their tasks. All methods may be called concurrently.
type Gateway struct {
	*kv.Client
	cfg     Config
	streams *Streams // of tasks at other nodes; nil: there are none
}

// New makes a Gateway.
func New(cfg Config) *Gateway {
	g := &Gateway{Client: cfg.Client, cfg: cfg}
	if cfg.Nodes != nil {
		g.streams = NewStreams(cfg.Catalog)
	}
	return g
}

// Close ends what runs at other nodes.
func (g *Gateway) Close() {
	if g.streams != nil {
		g.streams.Close()
	}
}

// Begin opens a transaction; it costs nothing until it is used.
func (g *Gateway) Begin() exec.Transaction {
	t := &Transaction{gateway: g}
	g.Init(&t.Transaction)
	return t
}

// nodeName returns the name of this node.
func (g *Gateway) nodeName() string {
	if n := g.cfg.Catalog.View().Node(g.cfg.Node); n != nil {
		return n.Name
	}
	return fmt.Sprint(g.cfg.Node)
}
