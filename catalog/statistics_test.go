package catalog

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func statisticsOps() []op {
	s := &Statistics{Table: 16400, Encoded: []byte{1, 2, 3}}
	return []op{{kind: putOp, key: keyOf(s), desc: s}}
}

// TestStatisticsFormat: statistics of tables are kept.
func TestStatisticsFormat(t *testing.T) {
	data, err := encodeBatch(statisticsOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "statistics.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, statisticsOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// targetOps are those of laterOps with statistics targets.
func targetOps() []op {
	ops := laterOps()
	t := ops[0].desc.(*Table)
	t.Columns[0].Target, t.Indexes[0].Targets = 1, []uint32{101, 0}
	return ops
}

// TestTargetsFormat: statistics targets of columns and of expressions in indexes are kept.
func TestTargetsFormat(t *testing.T) {
	data, err := encodeBatch(targetOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "statistics-targets.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, targetOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// extendedOps are those of laterOps with statistics objects.
func extendedOps() []op {
	ops := laterOps()
	t := ops[0].desc.(*Table)
	columns := []int16{t.Columns[0].AttNum}
	t.Statistics = []ExtendedStatistics{
		{OID: 16500, Schema: t.Schema, Name: "stat", Owner: 10, Columns: columns, Expressions: []string{"lower(a)"},
			Kinds: []StatisticsKind{NDistinct, CommonValues}, Target: 101, Comment: "both"},
		{OID: 16501, Schema: 16384, Name: "expr", Owner: 10, Expressions: []string{"upper(a)"}},
	}
	return ops
}

// TestExtendedFormat: objects of CREATE STATISTICS are kept.
func TestExtendedFormat(t *testing.T) {
	data, err := encodeBatch(extendedOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "extended-statistics.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, extendedOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// TestExtended checks that statistics objects are found by name and OID, that names are unique in a
// schema, that schemas and owners of statistics objects exist and stay, and that columns do too.
func TestExtended(t *testing.T) {
	c := openBootstrapped(t)
	oids := make([]OID, 5)
	for i := range oids {
		oids[i] = must[OID](t)(c.NewOID(t.Context()))
	}
	other := &Schema{OID: oids[0], Database: PostgresDB, Name: "other", Owner: BootstrapRole}
	owner := &Role{OID: oids[1], Name: "owner", ConnectionLimit: -1}
	update := func(f func(ch *Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return f(ch) })
		return err
	}
	if err := update(func(ch *Change) error { return errors.Join(ch.PutSchema(other), ch.PutRole(owner)) }); err != nil {
		t.Fatal(err)
	}
	tab := newTable(t, c, "orders")
	first := ExtendedStatistics{OID: oids[2], Schema: tab.Schema, Name: "s", Owner: BootstrapRole,
		Columns: []int16{1, 2}, Kinds: StatisticsKinds}
	second := ExtendedStatistics{OID: oids[3], Schema: other.OID, Name: "s", Owner: owner.OID, Expressions: []string{"id"}}
	tab.Statistics = []ExtendedStatistics{first, second}
	v := putTable(t, c, tab)
	for _, x := range tab.Statistics {
		at, byName := ExtendedByName(v, x.Schema, "s")
		_, byOID := ExtendedByOID(v, x.OID)
		if byName == nil || byOID != byName || byName.OID != x.OID || at.OID != tab.OID {
			t.Errorf("%d: by name %+v, by OID %+v", x.OID, byName, byOID)
		}
	}
	if at, x := ExtendedByName(v, tab.Schema, "orders"); at != nil || x != nil {
		t.Errorf("a table's name finds %+v", x)
	}
	refused := map[string]func(x *ExtendedStatistics){
		pgerr.DuplicateObject:   func(x *ExtendedStatistics) { x.Name = "s" },
		pgerr.InvalidSchemaName: func(x *ExtendedStatistics) { x.Schema = 77777 },
		pgerr.UndefinedObject:   func(x *ExtendedStatistics) { x.Owner = 77777 },
		pgerr.InternalError:     func(x *ExtendedStatistics) { x.Columns = []int16{1, 99} },
	}
	for code, change := range refused {
		x := first.clone()
		x.OID, x.Name = oids[4], "third"
		change(&x)
		next := tab.Clone()
		next.Statistics = append(next.Statistics, x)
		if err := update(func(ch *Change) error { return ch.PutTable(next) }); pgerr.From(err) == nil || pgerr.From(err).Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	for what, f := range map[string]func(ch *Change){
		"schema": func(ch *Change) { ch.DropSchema(other.OID) }, "role": func(ch *Change) { ch.DropRole(owner.OID) },
	} {
		err := update(func(ch *Change) error { f(ch); return nil })
		if !pgerr.Is(err, pgerr.DependentObjectsStillExist) {
			t.Errorf("drop of the %s: %v", what, err)
		}
	}
	if err := update(func(ch *Change) error { ch.DropTable(tab.OID); return nil }); err != nil {
		t.Fatal(err)
	}
	if at, _ := ExtendedByOID(c.View(), first.OID); at != nil {
		t.Error("left after the drop of its table")
	}
	if err := update(func(ch *Change) error { ch.DropSchema(other.OID); ch.DropRole(owner.OID); return nil }); err != nil {
		t.Error(err)
	}
}

// TestStatistics checks that statistics change no definition, are bounded, and are
// dropped with their table, even if the change that drops it does not know them.
func TestStatistics(t *testing.T) {
	c := openBootstrapped(t)
	tab := newTable(t, c, "orders")
	before := putTable(t, c, tab)
	drop := before.Plan()
	drop.DropTable(tab.OID)
	put := func(size int) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error {
			return (&Statistics{Table: tab.OID, Encoded: make([]byte, size)}).Put(ch)
		})
		return err
	}
	if err := put(maxStatistics); err != nil {
		t.Fatal(err)
	}
	if err := put(maxStatistics + 1); err == nil {
		t.Error("too many bytes are accepted")
	}
	v := c.View()
	if v.DefinitionVersion() != before.DefinitionVersion() || len(StatisticsOf(v, tab.OID).Encoded) != maxStatistics {
		t.Errorf("definitions have version %d, before %d", v.DefinitionVersion(), before.DefinitionVersion())
	}
	after, err := v.apply(drop.ops, counters{})
	if err != nil {
		t.Fatal(err)
	}
	if left := slices.Collect(all[*Statistics](after, statisticsObject)); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	if _, err := after.apply(statisticsFor(tab.OID), counters{}); !pgerr.Is(err, pgerr.UndefinedTable) {
		t.Errorf("of a table that does not exist: %v", err)
	}
}

func statisticsFor(table OID) []op {
	s := &Statistics{Table: table, Encoded: []byte{1}}
	return []op{{kind: putOp, key: keyOf(s), desc: s}}
}
