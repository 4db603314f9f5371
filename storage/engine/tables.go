package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"google.golang.org/protobuf/proto"
)

// Badger ends the process at some kinds of damage in a table. So the tables of a replica that is
// not open are checked here before Badger reads them.

// TableFault is what is wrong with a table of the database.
type TableFault struct {
	File string // in the replica's directory
	Err  error
}

// VerifyTables checks every block of every table of the database in a replica's directory, and
// changes nothing. It returns the number of tables, and calls read with the bytes of each.
func VerifyTables(ctx context.Context, dir string, read func(bytes int64)) (n int, faults []TableFault, err error) {
	data := filepath.Join(dir, "data")
	const manifest = "MANIFEST"
	f, err := os.Open(filepath.Join(data, manifest))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil // the replica was about to be made
	}
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	list, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(data).WithLogger(nil))
	if err != nil {
		return 0, []TableFault{{filepath.Join("data", manifest), err}}, nil
	}
	for _, id := range slices.Sorted(maps.Keys(list.Tables)) {
		if err := ctx.Err(); err != nil {
			return n, faults, err
		}
		name := filepath.Base(table.NewFilename(id, data))
		b, err := os.ReadFile(filepath.Join(data, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("the file is missing")
		} else if err == nil && list.Tables[id].Compression == options.None {
			// this package writes no others
			err = verifyTable(b)
		}
		if err != nil {
			faults = append(faults, TableFault{filepath.Join("data", name), err})
		}
		n++
		read(int64(len(b)))
	}
	return n, faults, nil
}

// A table is blocks, an index, and at its end: size of the index (4), its checksum, size of that
// (4).
func verifyTable(b []byte) (err error) {
	defer func() {
		if recover() != nil { // the index may point anywhere
			err = errors.New("its index is malformed")
		}
	}()
	index, err := cutSummed(b)
	if err != nil {
		return fmt.Errorf("its index %w", err)
	}
	size, ok := tailSize(index.data)
	if !ok {
		return errors.New("its index is cut off")
	}
	blocks := index.data[:len(index.data)-4-size]
	index.data = index.data[len(blocks) : len(index.data)-4]
	if err := index.verify(); err != nil {
		return fmt.Errorf("its index %w", err)
	}
	x := fb.GetRootAsTableIndex(index.data, 0)
	var o fb.BlockOffset
	for i := range x.OffsetsLength() {
		if !x.Offsets(&o, i) {
			return errors.New("its index is malformed")
		}
		from, to := uint64(o.Offset()), uint64(o.Offset())+uint64(o.Len())
		if to > uint64(len(blocks)) {
			return fmt.Errorf("block %d lies beyond the file's end", i)
		}
		block, err := cutSummed(blocks[from:to])
		if err == nil {
			err = block.verify()
		}
		if err != nil {
			return fmt.Errorf("block %d at %d %w", i, from, err)
		}
	}
	return nil
}

// summed is data that a checksum follows.
type summed struct {
	data []byte
	sum  *pb.Checksum
}

// tailSize returns the number in the last four bytes, the size of what lies before them.
func tailSize(b []byte) (int, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n := uint64(binary.BigEndian.Uint32(b[len(b)-4:]))
	return int(n), n <= uint64(len(b)-4)
}

var errSum = errors.New("does not match its checksum")

// cutSummed takes the checksum off the end of b.
func cutSummed(b []byte) (summed, error) {
	size, ok := tailSize(b)
	if !ok {
		return summed{}, errors.New("is cut off")
	}
	at := len(b) - 4 - size
	s := summed{b[:at], &pb.Checksum{}}
	if err := proto.Unmarshal(bytes.Clone(b[at:len(b)-4]), s.sum); err != nil {
		return s, errSum
	}
	return s, nil
}

func (s summed) verify() error {
	if a := s.sum.GetAlgo(); a != pb.Checksum_CRC32C && a != pb.Checksum_XXHash64 {
		return errSum
	}
	if y.VerifyChecksum(s.data, s.sum) != nil {
		return errSum
	}
	return nil
}
