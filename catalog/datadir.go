package catalog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sherddb/sherd/internal/dirsync"
)

// DirFormat is the format of data directories that this release writes (V5). It reads older formats
// and refuses newer ones.
const DirFormat = 1

const (
	versionFile = "VERSION"
	versionTemp = "VERSION.new"
	lockFile    = "LOCK"
	// The node's certificate and key. The folder exists before VERSION, because a joining node gets
	// its number together with its certificate.
	certsDir = "certs"
)

// DataDir is a locked data directory of a node.
type DataDir struct {
	Path    string
	Created bool // by this Open
	Identity
	lock *os.File
}

// Identity names the cluster and the node that a data directory belongs to.
type Identity struct {
	ClusterID string // a UUID
	NodeID    uint32
}

// NewCluster returns the identity of the first node of a new cluster.
func NewCluster() Identity { return Identity{ClusterID: newUUID(), NodeID: 1} }

// OpenDataDir locks the data directory of a node, and creates it if it is missing or empty. product
// is the running release, such as 0.1.0. fresh returns the identity of a new directory; before that
// it may write files into certs, the folder of Certs. Errors are sentences for the operator: the
// directory is in use, belongs to something else, is accessible to other users, is damaged, or was
// written by a newer release.
func OpenDataDir(path, product string, fresh func(certs string) (Identity, error)) (*DataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := dirsync.Make(path); err != nil {
		return nil, fmt.Errorf("cannot make the data directory: %w", err)
	}
	// Write nothing, not even the lock, before it is clear that the directory is ours or empty.
	if err := checkOurs(path); err != nil {
		return nil, err
	}
	lock, err := lockDir(path)
	if err != nil {
		return nil, err
	}
	d := &DataDir{Path: path, lock: lock}
	if err := d.load(product, fresh); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// ReadDataDir locks the data directory of a stopped node for reading: it changes nothing in it, and
// the node cannot start meanwhile. product is the running release. Errors are sentences for the
// operator.
func ReadDataDir(path, product string) (*DataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(path, versionFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := os.Stat(path); serr != nil {
			return nil, fmt.Errorf("there is no data directory %s", path)
		}
		return nil, fmt.Errorf("%s is not a data directory of Sherd: it has no file %s", path, versionFile)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the data directory: %w", err)
	}
	d := &DataDir{Path: path}
	v, err := d.version(data, product)
	if err != nil {
		return nil, err
	}
	d.Identity = v.Identity
	if d.lock, err = shareDir(path); err != nil {
		return nil, err
	}
	return d, nil
}

// Close unlocks the directory.
func (d *DataDir) Close() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

// Certs returns the folder with the node's certificate and key.
func (d *DataDir) Certs() string { return d.Join(certsDir) }

// Join returns the path of something in the directory.
func (d *DataDir) Join(parts ...string) string {
	return filepath.Join(append([]string{d.Path}, parts...)...)
}

// checkOurs refuses a directory that has contents and is not a data directory. It ignores the
// remains of an interrupted creation, and the folder that a new file system has.
func checkOurs(path string) error {
	names, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("cannot read the data directory: %w", err)
	}
	other := ""
	for _, n := range names {
		switch n.Name() {
		case versionFile:
			return nil
		case versionTemp, lockFile, certsDir, "lost+found":
		default:
			other = n.Name()
		}
	}
	if other != "" {
		return fmt.Errorf("%s is not a data directory of Sherd: it holds %q and no file %s. "+
			"Name an empty or a new directory, or restore the missing file", path, other, versionFile)
	}
	return nil
}

// closeToOthers refuses a directory that other users can access, as PostgreSQL does, because the
// catalog's files contain the key that certifies nodes. If the directory is new, it removes the
// access instead.
func closeToOthers(path string, isNew bool) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot read the data directory: %w", err)
	}
	mode := st.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	if isNew {
		if err := os.Chmod(path, 0o700); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the data directory %s is open to other users (mode %#o), and holds the cluster's keys: "+
		"chmod 700 %s", path, mode, path)
}

// load reads VERSION, or writes the first one.
func (d *DataDir) load(product string, fresh func(certs string) (Identity, error)) error {
	data, err := os.ReadFile(d.Join(versionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d.create(product, fresh)
	}
	if err != nil {
		return fmt.Errorf("cannot read the data directory: %w", err)
	}
	v, err := d.version(data, product)
	if err != nil {
		return err
	}
	if err := closeToOthers(d.Path, false); err != nil {
		return err
	}
	d.Identity = v.Identity
	if v.product == product && v.format == DirFormat {
		return nil
	}
	return d.writeVersion(dirVersion{format: DirFormat, product: product, Identity: v.Identity})
}

// version parses VERSION and refuses a newer format.
func (d *DataDir) version(data []byte, product string) (dirVersion, error) {
	v, err := parseVersion(data)
	if err != nil {
		return v, fmt.Errorf("the data directory %s is damaged: file %s: %w. Restore it from a backup of the directory",
			d.Path, versionFile, err)
	}
	if v.format > DirFormat {
		return v, fmt.Errorf("the data directory %s has format %d and was written by Sherd %s; this is Sherd %s, "+
			"which reads formats up to %d. "+
			"Start the newer release", d.Path, v.format, v.product, product, DirFormat)
	}
	return v, nil
}

func (d *DataDir) create(product string, fresh func(certs string) (Identity, error)) error {
	if err := closeToOthers(d.Path, true); err != nil {
		return err
	}
	id, err := fresh(d.Certs())
	if err != nil {
		return err
	}
	d.Created, d.Identity = true, id
	return d.writeVersion(dirVersion{format: DirFormat, product: product, Identity: id})
}

// writeVersion replaces VERSION. After a crash either the old or the new file is there.
func (d *DataDir) writeVersion(v dirVersion) error {
	err := writeFileSynced(d.Join(versionTemp), v.text())
	if err == nil {
		err = os.Rename(d.Join(versionTemp), d.Join(versionFile))
	}
	if err == nil {
		err = dirsync.Sync(d.Path)
	}
	if err != nil {
		return fmt.Errorf("cannot write to the data directory: %w", err)
	}
	return nil
}

func writeFileSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
