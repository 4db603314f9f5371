package expr

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// An instance outlives its executions, because a cached program keeps it for the next one.
// Operators and expressions write what an execution needs to their own fields, so the compiler
// registers each of them (Own), and after the execution each is reset to its state after
// compilation (E11). A field that is added later needs no further code.

// keptBuffer is the largest size, in bytes, of a scratch buffer that stays allocated between
// executions.
const keptBuffer = 1 << 10

// owned is a struct that executions write to.
type owned struct {
	at       unsafe.Pointer
	now      reflect.Value // the struct
	compiled reflect.Value // a copy from before the first execution
	shape    *ownedShape
}

// ownedShape lists the offsets of a struct's scratch space, which stays allocated for the next
// execution.
type ownedShape struct {
	rows    []uintptr // fields of type Row, which the compiler has allocated
	buffers []uintptr // fields of type []byte, which executions allocate
}

// ownedShapes caches the shapes by reflect.Type.
var ownedShapes sync.Map

var (
	rowType    = reflect.TypeFor[types.Row]()
	bufferType = reflect.TypeFor[[]byte]()
)

func shapeOf(t reflect.Type) *ownedShape {
	if s, ok := ownedShapes.Load(t); ok {
		return s.(*ownedShape)
	}
	s := &ownedShape{}
	s.add(t, 0)
	ownedShapes.Store(t, s)
	return s
}

func (s *ownedShape) add(t reflect.Type, base uintptr) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Type == rowType:
			s.rows = append(s.rows, base+f.Offset)
		case f.Type == bufferType:
			s.buffers = append(s.buffers, base+f.Offset)
		case f.Anonymous && f.Type.Kind() == reflect.Struct: // it may alias memory of the session
			s.add(f.Type, base+f.Offset)
		}
	}
}

// Own registers a pointer to a struct. The struct must be complete, because later changes by the
// compiler are lost.
func (s *Scratch) Own(p any) {
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer {
		return // a value has no fields that an execution could write to
	}
	v = v.Elem()
	compiled := reflect.New(v.Type()).Elem()
	compiled.Set(v)
	s.owned = append(s.owned, owned{v.Addr().UnsafePointer(), v, compiled, shapeOf(v.Type())})
}

// Space allocates scratch space of n datums for an expression.
func (s *Scratch) Space(n int) types.Row {
	r := make(types.Row, n)
	s.rows = append(s.rows, r)
	return r
}

// Site registers the context of a call site.
func (s *Scratch) Site(c *builtin.Ctx) *builtin.Ctx {
	s.sites = append(s.sites, c)
	return c
}

// AtEnd registers a function that is called first when an execution has ended.
func (s *Scratch) AtEnd(f func()) { s.ends = append(s.ends, f) }

// rest resets the struct to its state after compilation, with empty scratch space.
func (o *owned) rest() {
	kept := o.compiled.Addr().UnsafePointer()
	for _, off := range o.shape.rows {
		clear(*(*types.Row)(unsafe.Add(kept, off)))
	}
	for _, off := range o.shape.buffers {
		b := *(*[]byte)(unsafe.Add(o.at, off))
		if cap(b) > keptBuffer {
			b = nil
		}
		*(*[]byte)(unsafe.Add(kept, off)) = b[:0]
	}
	o.now.Set(o.compiled)
}

// Scratch is all that executions of an instance write to.
type Scratch struct {
	owned []owned
	rows  []types.Row
	sites []*builtin.Ctx
	ends  []func()
}

// Rest removes everything of an execution that has ended. The compiled patterns that a call site
// keeps (builtin.Ctx.Memo) are not data of rows, and stay.
func (s *Scratch) Rest() {
	for _, f := range s.ends {
		f()
	}
	for i := range s.owned {
		s.owned[i].rest()
	}
	for _, r := range s.rows {
		clear(r)
	}
	for _, x := range s.sites {
		x.Context, x.Env, x.Session, x.Statement = nil, nil, nil, nil
	}
}

// textBuffer is the space in which an expression spells a value.
type textBuffer struct{ b []byte }

func (t *textBuffer) output(from types.OID, d types.Datum, env *types.Env) string {
	t.b = types.AppendOutput(t.b[:0], from, d, env)
	return string(t.b)
}
