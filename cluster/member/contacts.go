package member

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
)

const (
	contactsFile   = "contacts"
	contactsHeader = "Sherd contacts 1" // V1
)

// Contacts are the last known addresses of the cluster's nodes, in a file. A node that starts needs
// them to receive the catalog from the others. All methods may be called concurrently.
type Contacts struct {
	path string

	mu      sync.Mutex
	version uint64            // of the view that it was taken from; guarded by mu
	addrs   map[uint32]string // guarded by mu
}

// OpenContacts reads the file in a node's directory of certificates. A file that is damaged or
// missing has no nodes; it is written again when the catalog arrives.
func OpenContacts(dir string) (*Contacts, error) {
	c := &Contacts{path: filepath.Join(dir, contactsFile), addrs: map[uint32]string{}}
	text, err := os.ReadFile(c.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	version, addrs, ok := parseContacts(string(text))
	if ok {
		c.version, c.addrs = version, addrs
	}
	return c, nil
}

func parseContacts(text string) (version uint64, addrs map[uint32]string, ok bool) {
	addrs = map[uint32]string{}
	lines := strings.Split(text, "\n")
	if n := len(lines); n < 3 || lines[n-2] != "end" || lines[n-1] != "" {
		return 0, nil, false
	}
	if _, err := fmt.Sscanf(lines[0], contactsHeader+" version %d", &version); err != nil {
		return 0, nil, false
	}
	for _, l := range lines[1 : len(lines)-2] {
		var node uint32
		var addr string
		if _, err := fmt.Sscanf(l, "%d %s", &node, &addr); err != nil {
			return 0, nil, false
		}
		addrs[node] = addr
	}
	return version, addrs, true
}

func contactsText(version uint64, addrs map[uint32]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, contactsHeader+" version %d\n", version)
	for _, n := range slices.Sorted(maps.Keys(addrs)) {
		fmt.Fprintf(&b, "%d %s\n", n, addrs[n])
	}
	b.WriteString("end\n")
	return b.String()
}

// Take stores the addresses that another node sent when this one joined.
func (c *Contacts) Take(told []*pb.Contact) error {
	addrs := map[uint32]string{}
	for _, t := range told {
		addrs[t.GetNode()] = t.GetAddr()
	}
	return c.set(0, addrs)
}

// Follow stores the addresses in a view, unless the view is older than the one stored last.
func (c *Contacts) Follow(v *catalog.View) error {
	addrs := map[uint32]string{}
	for n := range v.Nodes() {
		if n.NodeAddr != "" {
			addrs[n.ID] = n.NodeAddr
		}
	}
	if len(addrs) == 0 {
		return nil
	}
	return c.set(v.Version(), addrs)
}

func (c *Contacts) set(version uint64, addrs map[uint32]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version < c.version || maps.Equal(addrs, c.addrs) {
		return nil
	}
	c.version, c.addrs = version, addrs
	// Not synced: after a crash the file has the addresses before, and most of them are still
	// right.
	temp := c.path + ".new"
	if err := os.WriteFile(temp, []byte(contactsText(version, addrs)), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, c.path)
}

// Addr returns the address of a node.
func (c *Contacts) Addr(node uint32) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if addr := c.addrs[node]; addr != "" {
		return addr, nil
	}
	return "", fmt.Errorf("no address of node %d is known here", node)
}

// Nodes returns the nodes whose addresses are known.
func (c *Contacts) Nodes() []uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.addrs))
}
