package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// planMessage is the message of plans, as the protobuf library reads it in plan.proto.
func planMessage(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{})}
	files, err := c.Compile(t.Context(), "plan.proto")
	must(t, err)
	return files[0].Messages().ByName("Plan")
}

// filler makes messages in which every field is set, for a plan with one table and one index.
type filler struct {
	random *rand.Rand
	deep   int // steps and expressions in each other so far
}

// numbers are fields that name something that exists.
var numbers = map[protoreflect.Name]uint32{
	"table": 1, "def": 1,
	"proc": pgcatalog.ProcsByName("length")[0].OID, "equal": pgcatalog.ProcsByName("texteq")[0].OID,
	"lt": pgcatalog.ProcsByName("text_lt")[0].OID, "eq": pgcatalog.ProcsByName("texteq")[0].OID,
}

// message sets all fields of a message; of a step or an expression it sets one kind.
func (f *filler) message(m protoreflect.Message) {
	if kinds := m.Descriptor().Oneofs().ByName("kind"); kinds != nil {
		f.kind(m, kinds.Fields().Get(f.random.IntN(kinds.Fields().Len())))
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if !field.IsList() {
			m.Set(field, f.value(field, m.NewField))
			continue
		}
		list := m.Mutable(field).List()
		for range 1 + f.random.IntN(2) {
			list.Append(f.value(field, func(protoreflect.FieldDescriptor) protoreflect.Value { return list.NewElement() }))
		}
	}
}

// kind makes m a step or an expression of a kind; those at the bottom hold no others. A stage is
// sent without some fields (TestStage).
func (f *filler) kind(m protoreflect.Message, kind protoreflect.FieldDescriptor) {
	switch leaf := m.Descriptor().Fields().ByName("source"); {
	case f.deep <= 2 && kind.Name() != "stage":
	case leaf != nil:
		kind = leaf
	default:
		kind = m.Descriptor().Fields().ByName("element")
	}
	f.deep++
	f.message(m.Mutable(kind).Message())
	f.deep--
}

func (f *filler) value(field protoreflect.FieldDescriptor,
	empty func(protoreflect.FieldDescriptor) protoreflect.Value) protoreflect.Value {
	n := 1 + f.random.Int64N(200)
	switch field.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("é" + string(rune('a'+n%26)))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(types.AppendDatum(nil, types.NewInt(n)))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(1 + int(n)%(field.Enum().Values().Len()-1)))
	case protoreflect.Sint32Kind:
		return protoreflect.ValueOfInt32(int32(-n))
	case protoreflect.Sint64Kind:
		return protoreflect.ValueOfInt64(-n << 30)
	case protoreflect.Uint32Kind:
		if known, ok := numbers[field.Name()]; ok {
			return protoreflect.ValueOfUint32(known)
		}
		return protoreflect.ValueOfUint32(uint32(n))
	}
	v := empty(field)
	f.message(v.Message())
	return v
}

// TestEveryField sends every kind of step and expression with all fields set, as the protobuf
// library writes them by plan.proto: what is decoded and encoded again is the same message.
func TestEveryField(t *testing.T) {
	whole, err := EncodeWhole(find(orders(1)))
	must(t, err)
	desc := planMessage(t)
	root := desc.Fields().ByName("root")
	for seed := range uint64(5) {
		f := &filler{random: rand.New(rand.NewPCG(seed, 0))}
		for _, union := range []protoreflect.FieldDescriptor{
			root, root.Message().Fields().ByName("filter").Message().Fields().ByName("cond"),
		} {
			kinds := union.Message().Oneofs().ByName("kind").Fields()
			for i := range kinds.Len() {
				kind, sent := kinds.Get(i), dynamicpb.NewMessage(desc)
				must(t, proto.Unmarshal(whole, sent))
				sent.Clear(root)
				node := sent.Mutable(root).Message()
				if union == root {
					f.kind(node, kind)
				} else {
					f.kind(node, root.Message().Fields().ByName("filter"))
					filter := node.Mutable(root.Message().Fields().ByName("filter")).Message()
					filter.Clear(union)
					f.kind(filter.Mutable(union).Message(), kind)
				}
				if got := sentAgain(t, sent); !proto.Equal(got.Get(root).Message().Interface(), node.Interface()) {
					t.Fatalf("%s came out as %v, not as %v", kind.Name(), got.Get(root), node)
				}
			}
		}
	}
}

// sentAgain decodes a message and encodes it again.
func sentAgain(t *testing.T, m *dynamicpb.Message) *dynamicpb.Message {
	t.Helper()
	b, err := proto.Marshal(m)
	must(t, err)
	n, err := Decode(nil, b)
	must(t, err)
	b, err = EncodeWhole(n)
	must(t, err)
	got := dynamicpb.NewMessage(m.Descriptor())
	must(t, proto.Unmarshal(b, got))
	return got
}
