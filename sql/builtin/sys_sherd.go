package builtin

import (
	"math"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/advice"
	"github.com/sherddb/sherd/sql/types"
)

// The functions of schema sherd, and sequences. sysSize has their table.

// sherdBucket returns the bucket that an id is hashed to by its anchor. It ignores prefix rules;
// sherdBucketOf applies them.
func sherdBucket(_ *Ctx, a []types.Datum) (types.Datum, error) {
	b, err := shardmap.BucketOf(a[0].S)
	return types.NewInt(int64(b)), err
}

// sherdSlice returns a bucket for any key of any table, so that slices by it have each row once.
func sherdSlice(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(int64(shardmap.HashedBucketOf(a[0].S))), nil
}

// sherdPlaced represents a sharding policy in CHECK constraints that pg_dump writes. The policy
// itself is checked elsewhere.
func sherdPlaced(*Ctx, []types.Datum) (types.Datum, error) { return types.NewBool(true), nil }

// ofRow returns a function of a table and the primary key of a row. If texts is set, the last
// argument is an array of the second and later values.
func ofRow(f func(s SessionInfo, table uint32, key RowKey) (types.Datum, error), texts bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		key, err := c.rowKey(a, texts || c.Variadic)
		if err != nil || slices.ContainsFunc(key.Values, types.Datum.IsNull) {
			return types.Null, err
		}
		return f(s, a[0].Oid(), key)
	}
}

func bucketOfRow(s SessionInfo, table uint32, key RowKey) (types.Datum, error) {
	bucket, _, err := s.Route(table, key)
	return types.NewInt(int64(bucket)), err
}

// routeOfRow returns the address of the node that leads a row's fragment.
func routeOfRow(s SessionInfo, table uint32, key RowKey) (types.Datum, error) {
	address, err := s.RouteAddress(table, key)
	return types.NewText(address), err
}

func fragmentOfRow(s SessionInfo, table uint32, key RowKey) (types.Datum, error) {
	_, fragment, err := s.Route(table, key)
	return types.NewText(fragment), err
}

// rowKey returns the primary key in the arguments after the table. If spread is set, the last
// argument is an array of values.
func (c *Ctx) rowKey(a []types.Datum, spread bool) (key RowKey, err error) {
	end := len(a)
	if spread {
		end--
	}
	for i := 1; i < end; i++ {
		key.Values, key.Types = append(key.Values, a[i]), append(key.Types, c.argType(i))
	}
	if !spread {
		return key, nil
	}
	array, err := types.ArrayOf(a[end])
	if err != nil {
		return key, err
	}
	for _, d := range array.Elems() {
		key.Values, key.Types = append(key.Values, d), append(key.Types, array.Elem)
	}
	return key, nil
}

func sherdSetPolicy(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	return types.Datum{K: types.KindVoid}, s.SetPolicy(a[0].Oid(), a[1].S)
}

func sherdValidatePolicy(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	return s.ValidatePolicy(a[0].Oid(), func(id string, bucket uint32, detail string) error {
		return emit([]types.Datum{types.NewText(id), types.NewInt(int64(bucket)), types.NewText(detail)})
	})
}

// sherdPolicyAdvice evaluates policies of a table: the given one, or those that its documents
// suggest.
func sherdPolicyAdvice(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	policy := ""
	if len(a) > 1 {
		if policy = jsonb.Doc(a[1].S).Text(); policy == "" {
			policy = "{}"
		}
	}
	return s.PolicyAdvice(a[0].Oid(), policy, func(r *advice.Report) error {
		doc, err := jsonb.Parse(r.Policy.JSON())
		if err != nil {
			return err
		}
		rises := types.Null
		if r.Ordered {
			rises = types.NewBool(r.Rises)
		}
		return emit([]types.Datum{
			types.NewJSONB(string(doc)), types.NewInt(r.Documents), types.NewInt(r.Rejected), types.NewInt(r.Misplaced),
			types.NewInt(r.Distinct),
			types.NewInt(r.Buckets), types.NewInt(int64(r.Largest)), types.NewInt(r.Most), types.NewInt(r.LargestBytes),
			types.NewFloat8(math.Round(r.Skew*1000) / 1000),
			rises, types.NewInt(r.Looked), types.NewInt(r.One), types.NewInt(r.Now), types.NewText(r.Text()),
		})
	})
}

func sherdCheck(c *Ctx, _ []types.Datum, emit func([]types.Datum) error) error {
	return checkWith(c, 0, emit)
}

func sherdCheckIndex(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	index := a[0].Oid()
	if index == 0 { // 0 asks for all of them below
		return pgerr.New(pgerr.UndefinedTable, "relation with OID 0 does not exist")
	}
	return checkWith(c, index, emit)
}

func checkWith(c *Ctx, index uint32, emit func([]types.Datum) error) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	return s.Check(index, func(check, subject string, ok bool, detail string) error {
		return emit([]types.Datum{types.NewText(check), types.NewText(subject), types.NewBool(ok),
			types.NewText(detail)})
	})
}

// optionsToTable splits name=value texts.
func optionsToTable(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	for _, option := range nonNullTexts(a[0]) {
		name, value, found := strings.Cut(option, "=")
		row := []types.Datum{types.NewText(name), types.Null}
		if found {
			row[1] = types.NewText(value)
		}
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

func nextval(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	n, err := s.NextValue(a[0].Oid())
	return types.NewInt(n), err
}

func currval(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	n, err := s.CurrentValue(a[0].Oid())
	return types.NewInt(n), err
}

func lastval(s SessionInfo) (types.Datum, error) {
	n, err := s.LastValue()
	return types.NewInt(n), err
}

func setval(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	if err := s.SetValue(a[0].Oid(), a[1].N, len(a) < 3 || a[2].Bool()); err != nil {
		return types.Null, err
	}
	return a[1], nil
}

// noObject returns PostgreSQL's error for a name of this kind that does not exist.
func noObject(kind ObjectKind, name string) error {
	switch kind {
	case ObjRole:
		return pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", name)
	case ObjSchema:
		return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
	case ObjDatabase:
		return pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", name)
	case ObjType:
		return pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", name)
	case ObjProcedure:
		return pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", name)
	case ObjTablespace:
		return pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", name)
	}
	return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
}

// sequenceLastValue is pg_sequence_last_value: null before the first nextval.
func sequenceLastValue(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	n, called, err := s.SequenceState(a[0].Oid())
	if err != nil || !called {
		return types.Null, err
	}
	return types.NewInt(n), nil
}

func sequenceParameters(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	p, err := s.SequenceParameters(a[0].Oid())
	if err != nil {
		return types.Null, err
	}
	int8, oid := types.Int8, types.Oid
	return types.NewRecord([]types.OID{int8, int8, int8, int8, types.Bool, int8, oid}, []types.Datum{
		types.NewInt(p.Start), types.NewInt(p.Min), types.NewInt(p.Max), types.NewInt(p.Increment),
		types.NewBool(p.Cycle), types.NewInt(p.Cache), types.NewOid(p.Type),
	}), nil
}
