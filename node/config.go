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

	Knobs Knobs // what tests change; the zero value is what a node in production has
}

// Knobs are what tests change of a node: a network that fails, a clock that jumps, another release,
// faults at named points, and other intervals.
type Knobs struct {
	Dial func(ctx context.Context, addr string) (net.Conn, error) // to other nodes; nil: TCP
	Now  func() time.Time                                         // nil: time.Now
	// AtMove is called at the arrows of a move's steps (package cluster/move). An error ends the
	// driver there.
	AtMove func(arrow string) error
	// AtStep is called at the steps of the node's replicas with their names (storage.Config.Fault).
	// The replica waits until it returns.
	AtStep func(point string)
	// VersionsKept returns how long old versions are kept now. nil: as sherd.gc_ttl says.
	VersionsKept func() time.Duration
	// Version is what the node speaks, as another release would. Zero: what this release speaks.
	Version door.Version
	// Election is how long the leader of a fragment may be silent before the others choose another.
	// 0: a second.
	Election time.Duration
	// LockPatience is how long the lock of a table waits for a node that does not answer. 0: 30 s.
	LockPatience time.Duration
	// Intervals between two looks; 0: a minute.
	CertificateLook time.Duration // at certificates and their authority
	UpgradeLook     time.Duration // whether an upgrade can be finalized
	RebalanceLook   time.Duration // of the balancer
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
	c.Knobs.setDefaults()
}

func (k *Knobs) setDefaults() {
	if k.CertificateLook == 0 {
		k.CertificateLook = certificateLook
	}
	if k.UpgradeLook == 0 {
		k.UpgradeLook = upgradeLook
	}
	if k.Version == (door.Version{}) {
		k.Version = Speaks()
	}
	if k.Now == nil {
		k.Now = time.Now
	}
}

// checkVersion refuses a cluster whose version this release does not know.
func (c *Config) checkVersion(cluster uint32) error {
	v := c.Knobs.Version
	if cluster <= v.To {
		return nil
	}
	return fmt.Errorf(
		"the cluster is at version %d, and this release, Sherd %s, knows versions up to %d: start the newer release here",
		cluster, v.Release, v.To,
	)
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
