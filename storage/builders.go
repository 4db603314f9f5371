package storage

import (
	"reflect"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/ristretto/v2/z"
)

// Badger keeps the buffers of up to eight table builders of each database for the next ones. They only grow: those that have once made a table of a
// memtable, or of a lower level, have 6 MiB or more, where most tables take 2, and they are let go one by one when no table was made for two
// seconds. With three fragments that was half of what lived in the heap of a node beside a large transaction. So while there is one, they are
// let go sooner. A table that finds none makes one of the size that it needs.

// builderPool gives where a database keeps the buffers of its table builders; nil where Badger has become another, which costs memory alone. Badger
// gives it to nobody, and sets it once, before Open returns.
func builderPool(db *badger.DB) *z.AllocatorPool {
	f := reflect.ValueOf(db).Elem().FieldByName("allocPool")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*z.AllocatorPool]() {
		return nil
	}
	return *(**z.AllocatorPool)(unsafe.Pointer(f.UnsafeAddr()))
}

const (
	builderPooled = 8   // what Badger keeps at most
	builderLeast  = 512 // bytes of the least buffer, which says that none was kept
)

// dropBuilders lets go of what is kept in p.
func dropBuilders(p *z.AllocatorPool) {
	if p == nil {
		return
	}
	for range builderPooled {
		a := p.Get(builderLeast, "")
		none := a.Allocated() <= builderLeast
		a.Release()
		if none {
			return
		}
	}
}
