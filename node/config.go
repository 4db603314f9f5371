package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/sql/settings"
)

// DefaultFragments is the number of fragments of the database postgres in a new cluster, unless
// configured otherwise.
const DefaultFragments = 3

// Speaks returns the versions of the node protocol that this release uses (V4): the newest one,
// which is also the newest cluster version that it knows, and the one before.
func Speaks() transport.Version {
	return transport.Version{Release: settings.Version, From: max(clusterversion.Newest-1, clusterversion.First),
		To: clusterversion.Newest}
}

// Config is the configuration of a node. Data is required.
type Config struct {
	Data     string // directory; made if it does not exist
	SQLAddr  string // of clients, HOST:PORT
	NodeAddr string // for other nodes, HOST:PORT
	HTTPAddr string // of operators; "" is no port for them

	// Addresses to announce, HOST or HOST:PORT; "" is the address at which the node listens.
	AdvertiseAddr    string // for other nodes
	SQLAdvertiseAddr string // clients

	// SQLTLS is TLSAuto, which "" means too, or TLSOn. The certificate for clients and its key are
	// PEM files; if they are "", the node makes a certificate.
	SQLTLS                string
	SQLTLSCert, SQLTLSKey string

	// For a node whose data directory is empty:
	// Addresses of nodes of a cluster to join; if it is empty, the node creates a cluster.
	Join  []string
	Token string // lets it in
	Name  string // in the list of nodes; "" is n and its number

	Gateway bool              // the node serves clients and holds no fragments
	Labels  map[string]string // for the placement of replicas, such as zone=a

	// Of a new cluster:
	Fragments int // of the database postgres; 0 means not configured: DefaultFragments
	// Replicas of each fragment; 0 means not configured: catalog.DefaultReplicationFactor.
	Replication int
	Password    string // of the superuser; "" if there is none

	RowCache int64 // bytes of rows that were read lately to keep in memory; default DefaultRowCache

	Logger *slog.Logger // default slog.Default()

	Knobs Knobs // for tests; the zero value is right for production
}

// Knobs are what tests change in a node: a network that fails, a clock that jumps, another release,
// faults at named points, and other intervals.
type Knobs struct {
	// Connects to other nodes; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	Now  func() time.Time // nil: time.Now
	// AtMove is called between the states of a move's steps (package rebalance/move). An error
	// stops the driver there.
	AtMove func(arrow string) error
	// AtStep is called at the steps of the node's replicas with their names (storage.Config.Fault).
	// The replica waits until it returns.
	AtStep func(point string)
	// VersionsKept returns how long old versions are kept. nil: as sherd.gc_ttl says.
	VersionsKept func() time.Duration
	// Version replaces the versions that this release speaks, to act as another release; zero: no
	// replacement.
	Version transport.Version
	// Election is how long the leader of a fragment may be silent before the followers elect
	// another one. 0: a second.
	Election time.Duration
	// LockNodeTimeout is how long the lock of a table waits for a node that does not answer. 0: 30
	// s.
	LockNodeTimeout time.Duration
	// Intervals between two checks; 0: a minute.
	CertificateLook time.Duration // at certificates and their authority
	UpgradeLook     time.Duration // whether an upgrade can be finalized
	RebalanceLook   time.Duration // of the balancer
}

// DefaultRowCache is the size of the cache of rows if no other is configured, in bytes.
const DefaultRowCache = 64 << 20

func (c *Config) setDefaults() {
	if c.RowCache == 0 {
		c.RowCache = DefaultRowCache
	}
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
	if k.Version == (transport.Version{}) {
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
		"the cluster is at version %d, and this release, Sherd %s, knows versions up to %d: "+
			"start the newer release here",
		cluster, v.Release, v.To,
	)
}

// advertised returns the address to announce for what listens at l: what was configured, with the
// port of l if none is given.
func advertised(configured string, l net.Listener) (string, error) {
	listens := l.Addr().String()
	if configured == "" {
		if host, _, err := net.SplitHostPort(listens); err == nil && net.ParseIP(host).IsUnspecified() {
			return "", errors.New("is needed: the node listens at all addresses of this machine, " +
				"and cannot know at which of them it is reached")
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
