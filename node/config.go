package node

import (
	"log/slog"

	"github.com/sherddb/sherd/catalog"
)

// DefaultFragments is how many fragments the database postgres of a new cluster has where nothing else is said.
const DefaultFragments = 3

// Config says how a node is started. Data is required.
type Config struct {
	Data     string // directory; made if it does not exist
	SQLAddr  string // of clients, HOST:PORT
	HTTPAddr string // of operators; "" is no door for them

	// Of a new cluster:
	Fragments   int    // of the database postgres; 0 is DefaultFragments
	Replication int    // replicas that each fragment shall have; 0 is catalog.DefaultReplicationFactor
	Verifier    string // SCRAM verifier of the superuser; "" is no password

	Logger *slog.Logger // default slog.Default()
}

func (c *Config) setDefaults() {
	if c.Fragments == 0 {
		c.Fragments = DefaultFragments
	}
	if c.Replication == 0 {
		c.Replication = catalog.DefaultReplicationFactor
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
}
