package catalog

import (
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
