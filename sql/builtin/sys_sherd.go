package builtin

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// The functions of schema sherd that package sql/admin does not have, and sequences. sysSize has their
// table.

// sherdBucket returns the bucket that an id is hashed to by its anchor. It ignores prefix rules;
// sherd.bucket of a table applies them.
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
