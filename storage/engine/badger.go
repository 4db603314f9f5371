package engine

import (
	"reflect"
	"sync"
	"unsafe" // also for go:linkname

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/skl"
)

// What Badger has no exported functions for.

// Badger has these for its own purposes, and calls them around DropAll. Both may be called again in
// the same state, under a lock of ours.
//
//go:linkname stopCompactions github.com/dgraph-io/badger/v4.(*DB).stopCompactions
func stopCompactions(db *badger.DB)

//go:linkname startCompactions github.com/dgraph-io/badger/v4.(*DB).startCompactions
func startCompactions(db *badger.DB)

// DiscardMemory drops what the database has in memory and in no table, and the file in which that
// is kept: Close then writes no table. Nothing may write to the database any more. The replica's
// log has what is dropped, and without the mark of a clean end the next Open expects it there.
func (e *Engine) DiscardMemory() {
	v := reflect.ValueOf(e.db).Elem()
	lock := (*sync.RWMutex)(unsafe.Pointer(v.FieldByName("lock").UnsafeAddr()))
	place := v.FieldByName("mt")
	lock.Lock()
	defer lock.Unlock()
	before := place.UnsafePointer()
	empty := reflect.New(place.Type().Elem()) // it has no file: there is no room for one
	sl := empty.Elem().FieldByName("sl")
	*(**skl.Skiplist)(unsafe.Pointer(sl.UnsafeAddr())) = skl.NewSkiplist(emptyArena)
	*(*unsafe.Pointer)(unsafe.Pointer(place.UnsafeAddr())) = empty.UnsafePointer()
	releaseMemtable(before)
}

const emptyArena = 4 << 10

//go:linkname releaseMemtable github.com/dgraph-io/badger/v4.(*memTable).DecrRef
func releaseMemtable(memtable unsafe.Pointer)

// prefixOf returns the prefix of an iterator's keys.
func prefixOf(it *badger.Iterator) *[]byte {
	return (*[]byte)(unsafe.Add(unsafe.Pointer(it), prefixAt))
}

// prefixAt is where Badger's iterator has its options' prefix.
var prefixAt = func() uintptr {
	options, ok := reflect.TypeFor[badger.Iterator]().FieldByName("opt")
	if !ok {
		panic("engine: Badger's iterator has no options")
	}
	prefix, _ := reflect.TypeFor[badger.IteratorOptions]().FieldByName("Prefix")
	return options.Offset + prefix.Offset
}()
