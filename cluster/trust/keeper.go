package trust

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/dirsync"
)

const (
	nodeFile  = "node.pem"  // the key and its chain
	nextFile  = "next.pem"  // a key whose certificate is asked for
	rootsFile = "roots.pem" // the authorities
	foundFile = "found.pem" // an authority with its key, until the cluster keeps it
)

// Keeper holds the certificate and the roots of a node, in a directory and, for handshakes, in
// memory. All methods may be called concurrently.
type Keeper struct {
	dir string
	now func() time.Time

	mu   sync.Mutex // held while something changes
	held atomic.Pointer[holding]
}

// holding is a node's certificate and roots at one time. Immutable.
type holding struct {
	self  Peer
	cert  tls.Certificate
	roots *Roots
}

// OpenKeeper reads a node's directory. It returns fs.ErrNotExist if the node has no certificate
// yet.
func OpenKeeper(dir string, now func() time.Time) (*Keeper, error) {
	key, chain, err := readNode(filepath.Join(dir, nodeFile))
	if err != nil {
		return nil, err
	}
	roots, err := readPrivate(filepath.Join(dir, rootsFile))
	if err != nil {
		return nil, err
	}
	_, certs, err := parsePEM(roots)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, rootsFile), err)
	}
	k := &Keeper{dir: dir, now: now}
	return k, k.hold(key, chain, func(clusterID string) (*Roots, error) { return newRoots(clusterID, certs) })
}

// CreateKeeper writes a node's first certificate and roots.
func CreateKeeper(dir string, key Key, chain Chain, roots *Roots, now func() time.Time) (*Keeper, error) {
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	k := &Keeper{dir: dir, now: now}
	if err := k.hold(key, chain, func(string) (*Roots, error) { return roots, nil }); err != nil {
		return nil, err
	}
	if err := writePrivate(filepath.Join(dir, rootsFile), roots.marshal()); err != nil {
		return nil, err
	}
	return k, k.writeNode(key, chain)
}

// hold makes a certificate and roots the current ones.
func (k *Keeper) hold(key Key, chain Chain, rootsOf func(clusterID string) (*Roots, error)) error {
	certs, err := chain.parse()
	if err != nil {
		return fmt.Errorf("certificate of this node: %w", err)
	}
	if !samePublicKey(certs[0], key.ec) {
		return errors.New("certificate of this node: it does not belong to the key")
	}
	self, err := nodeOf(certs[0])
	if err != nil {
		return fmt.Errorf("certificate of this node: %w", err)
	}
	self.Issuer = issuer(certs)
	roots, err := rootsOf(self.ClusterID)
	if err != nil {
		return err
	}
	if roots.clusterID != self.ClusterID {
		return fmt.Errorf(
			"certificate of this node: it is for cluster %s, and the roots are of cluster %s", self.ClusterID,
			roots.clusterID,
		)
	}
	cert := tls.Certificate{Certificate: chain, PrivateKey: key.ec, Leaf: certs[0]}
	k.held.Store(&holding{self: self, cert: cert, roots: roots})
	return nil
}

// Dir returns the directory of the node's certificate and roots.
func (k *Keeper) Dir() string { return k.dir }

// Self returns the identity of this node.
func (k *Keeper) Self() Peer { return k.held.Load().self }

// Certificate returns the certificate that this node shows. It changes with Renew.
func (k *Keeper) Certificate() *tls.Certificate { return &k.held.Load().cert }

// Roots returns the authorities that are trusted now.
func (k *Keeper) Roots() *Roots { return k.held.Load().roots }

// Now returns the time by which certificates are checked.
func (k *Keeper) Now() time.Time { return k.now() }

// RenewAt returns when the certificate is due for renewal: after a third of its lifetime.
func (k *Keeper) RenewAt() time.Time {
	leaf := k.held.Load().cert.Leaf
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 3)
}

// Renew replaces the certificate by one of a new key. Open connections continue.
func (k *Keeper) Renew(key Key, chain Chain) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.held.Load()
	certs, err := chain.parse()
	if err != nil {
		return fmt.Errorf("renewed certificate: %w", err)
	}
	p, err := before.roots.Verify(certs, k.now())
	if err != nil {
		return fmt.Errorf("renewed certificate: %w", err)
	}
	if p.Node != before.self.Node {
		return fmt.Errorf("renewed certificate: it is for node %d, and this is node %d", p.Node, before.self.Node)
	}
	if !samePublicKey(certs[0], key.ec) {
		return errors.New("renewed certificate: it does not belong to the key")
	}
	if err := k.writeNode(key, chain); err != nil {
		return err
	}
	return k.hold(key, chain, func(string) (*Roots, error) { return before.roots, nil })
}

// SetRoots replaces the trusted authorities. It refuses roots by which this node would not trust
// itself.
func (k *Keeper) SetRoots(roots *Roots) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.held.Load()
	certs, err := Chain(before.cert.Certificate).parse()
	if err != nil {
		return err
	}
	if _, err := roots.Verify(certs, before.cert.Leaf.NotBefore); err != nil {
		return fmt.Errorf("the new authorities do not vouch for this node's certificate: %w", err)
	}
	if err := writePrivate(filepath.Join(k.dir, rootsFile), roots.marshal()); err != nil {
		return err
	}
	k.held.Store(&holding{self: before.self, cert: before.cert, roots: roots})
	return nil
}

// Replace replaces certificate and roots by ones that may be unrelated to the current ones, because
// the cluster has other authorities than this node knew.
func (k *Keeper) Replace(key Key, chain Chain, roots *Roots) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.held.Load()
	next, err := CreateKeeper(k.dir, key, chain, roots, k.now)
	if err != nil {
		return err
	}
	if self := next.Self(); self.Node != before.self.Node || self.ClusterID != before.self.ClusterID {
		return fmt.Errorf("new certificate: it is for %s, and this is %s", self, before.self)
	}
	k.held.Store(next.held.Load())
	return nil
}

// FoundAuthority makes the authority of a new cluster and keeps it in a directory until
// ForgetFounded. A second call returns the same authority.
func FoundAuthority(dir, clusterID string, now time.Time) (*Authority, error) {
	path := filepath.Join(dir, foundFile)
	text, err := readPrivate(path)
	if err == nil {
		a, err := ParseAuthority(text)
		if err != nil {
			return nil, fmt.Errorf("%s is damaged: %w", path, err)
		}
		if a.ClusterID == clusterID {
			return a, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	a, err := NewAuthority(clusterID, now)
	if err != nil {
		return nil, err
	}
	if text, err = a.Marshal(); err != nil {
		return nil, err
	}
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	return a, writePrivate(path, text)
}

// Founded returns the authority that FoundAuthority has kept; fs.ErrNotExist if there is none.
func Founded(dir string) (*Authority, error) {
	text, err := readPrivate(filepath.Join(dir, foundFile))
	if err != nil {
		return nil, err
	}
	return ParseAuthority(text)
}

// ForgetFounded removes the authority's key, after the cluster has stored it.
func ForgetFounded(dir string) error {
	err := os.Remove(filepath.Join(dir, foundFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// PendingKey returns the key for which to request a certificate, and makes it the first time: a
// node that asks again after a crash must ask with the same key (TR3). ForgetPending ends that.
func PendingKey(dir string) (Key, error) {
	path := filepath.Join(dir, nextFile)
	text, err := readPrivate(path)
	if err == nil {
		ec, _, err := parsePEM(text)
		if err != nil || ec == nil {
			return Key{}, fmt.Errorf("%s is damaged: delete it", path)
		}
		return Key{ec}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Key{}, err
	}
	key, err := NewKey()
	if err != nil {
		return Key{}, err
	}
	if text, err = marshalKey(key.ec); err != nil {
		return Key{}, err
	}
	if err := dirsync.Make(dir); err != nil {
		return Key{}, err
	}
	return key, writePrivate(path, text)
}

// ForgetPending removes the key of PendingKey, after it has become the node's key or the attempt
// was given up.
func ForgetPending(dir string) error {
	err := os.Remove(filepath.Join(dir, nextFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (k *Keeper) writeNode(key Key, chain Chain) error {
	certs, err := chain.parse()
	if err != nil {
		return err
	}
	text, err := marshalKey(key.ec)
	if err != nil {
		return err
	}
	text = append(text, (&Roots{certs: certs}).marshal()...)
	return writePrivate(filepath.Join(k.dir, nodeFile), text)
}

func readNode(path string) (Key, Chain, error) {
	text, err := readPrivate(path)
	if err != nil {
		return Key{}, nil, err
	}
	ec, certs, err := parsePEM(text)
	if err != nil || ec == nil {
		return Key{}, nil, fmt.Errorf("%s is damaged: %w", path, errors.Join(err))
	}
	return Key{ec}, (&Roots{certs: certs}).DER(), nil
}

// readPrivate reads a file that other users must not be able to read.
func readPrivate(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read or written by others (mode %#o): chmod 600 it", path, st.Mode().Perm())
	}
	return os.ReadFile(path)
}

// writePrivate replaces a file so that a crash leaves either the old or the new one.
func writePrivate(path string, text []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
