package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/door"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/sql/settings"
)

// DefaultFragments is how many fragments the database postgres of a new cluster has where nothing else is said.
const DefaultFragments = 3

// Speaks is what this release speaks with other nodes (V4): the newest version of the node protocol, which is the newest of clusters that it knows, and the
// one before.
func Speaks() door.Version {
	return door.Version{Release: settings.Version, From: max(clusterversion.Newest-1, clusterversion.First), To: clusterversion.Newest}
}

// Config says how a node is started. Data is required.
type Config struct {
	Data     string // directory; made if it does not exist
	SQLAddr  string // of clients, HOST:PORT
	NodeAddr string // of other nodes, HOST:PORT
	HTTPAddr string // of operators; "" is no door for them

	// How others reach this node, HOST or HOST:PORT; "" is what it listens at.
	AdvertiseAddr    string // other nodes
	SQLAdvertiseAddr string // clients

	// What clients are shown where TLS is offered to them (TLSAuto, which "" is, or TLSOn): files, PEM; "" is a certificate that the node makes itself.
	SQLTLS                string
	SQLTLSCert, SQLTLSKey string

	// Of a node whose data directory is empty:
	Join  []string // addresses of nodes of a cluster to join; none: it begins a cluster
	Token string   // lets it in
	Name  string   // in the list of nodes; "" is n and its number

	Gateway bool              // it serves clients and holds no fragments
	Labels  map[string]string // where it is: zone=a

	// Of a new cluster:
	Fragments   int    // of the database postgres; 0 is nothing said: DefaultFragments
	Replication int    // replicas that each fragment shall have; 0 is nothing said: catalog.DefaultReplicationFactor
	Password    string // of the superuser; "" is none

	Logger *slog.Logger // default slog.Default()

	// For tests: a network that fails, and a clock that jumps.
	Dial func(ctx context.Context, addr string) (net.Conn, error) // to other nodes; nil is TCP
	Now  func() time.Time                                         // nil is time.Now
	// AtMove is called at the arrows of a move's steps (package cluster/move): an error ends the driver there.
	AtMove func(arrow string) error
	// AtStep is called at the steps of the node's replicas, by their names (storage.Config.Fault); a replica stands still for as long as it does.
	AtStep func(point string)
	// VersionsKept returns how long old versions are kept now; nil: as sherd.gc_ttl says.
	VersionsKept func() time.Duration
	// Version is what the node speaks, as another release would; zero is this release's.
	Version door.Version
	// Election is how long the leader of a fragment may be silent before the others choose another; 0 is a second.
	Election time.Duration
	// CertificateLook is how often certificates and their authority are looked at; 0 is a minute.
	CertificateLook time.Duration
	// LockPatience is how long a lock of a table waits for a node that cannot be asked; 0 is 30 s.
	LockPatience time.Duration
	// UpgradeLook is how often it is looked whether an upgrade can be finalized; 0 is a minute.
	UpgradeLook time.Duration
	// RebalanceLook is how often the balancer decides; 0 is a minute.
	RebalanceLook time.Duration
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
	if c.CertificateLook == 0 {
		c.CertificateLook = certificateLook
	}
	if c.UpgradeLook == 0 {
		c.UpgradeLook = upgradeLook
	}
	if c.Version == (door.Version{}) {
		c.Version = Speaks()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// advertised returns the address to announce for what listens at l: what was configured, with the
// port of l if none is given.
func advertised(configured string, l net.Listener) (string, error) {
	listens := l.Addr().String()
	if configured == "" {
		if host, _, err := net.SplitHostPort(listens); err == nil && net.ParseIP(host).IsUnspecified() {
			return "", errors.New("is needed: the node listens at all addresses of this machine, and cannot know at which of them it is reached")
		}
		return listens, nil
	}
	if _, _, err := net.SplitHostPort(configured); err == nil {
		return configured, nil
	}
	_, port, err := net.SplitHostPort(listens)
	if err != nil {
		return "", err
	}
	addr := net.JoinHostPort(configured, port)
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", fmt.Errorf("%q: it is not HOST or HOST:PORT", configured)
	}
	return addr, nil
}
