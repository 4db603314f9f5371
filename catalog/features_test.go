package catalog

import (
	"os"
	"slices"
	"strings"
	"testing"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/pgerr"
)

// TestEveryFieldHasAVersion fails when the durable form gains a field of which it is not said which
// version of the cluster brought it: of those in features, else in fields.v1, where those are that
// the first version had.
func TestEveryFieldHasAVersion(t *testing.T) {
	data, err := os.ReadFile("testdata/fields.v1")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range strings.Fields(string(data)) {
		known[name] = true
	}
	newMessages := map[string]bool{"Hot": true, "Counter": true, "HotDocument": true, "Segment": true, "PrefixRule": true, "Resegment": true, "MovedSegment": true, "Statistics": true, "ExtendedStatistics": true, "ViewRule": true, "ViewUse": true, "Type": true, "EnumLabel": true, "Attribute": true, "Domain": true, "Function": true, "Argument": true, "Trigger": true, "AccessList": true, "AccessItem": true, "DefaultAccess": true, "LanguageAccess": true, "Membership": true, "RowSecurity": true, "RowPolicy": true} // fields of brought hold them

	known["MoveStep.receipt"] = true // clusterversion.RenewedSteps: the driver asks before it writes it
	for _, f := range features {
		for _, name := range f.fields {
			name := strings.TrimPrefix(string(name), "sherd.catalog.")
			if known[name] {
				t.Errorf("%s is of the first version, and of %d", name, f.since)
			}
			known[name] = true
		}
	}
	messages := pb.File_catalog_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		for k := range m.Fields().Len() {
			name := string(m.Name()) + "." + string(m.Fields().Get(k).Name())
			if !known[name] && !newMessages[string(m.Name())] {
				t.Errorf("which version of the cluster brought %s? (package clusterversion)", name)
			}
			delete(known, name)
		}
	}
	for name := range known {
		t.Errorf("there is no field %s", name)
	}
}

// TestFeatures: what a version brought is put only once the cluster is at that version, but for
// objects that use it already; all that is in the golden files of later formats and is not in those
// of the first is seen.
func TestFeatures(t *testing.T) {
	v := emptyView()
	revision := func(k objectKey) uint64 {
		e, _ := v.objects.Get(uint64(k))
		return e.revision
	}
	format := func(n uint32) {
		t.Helper()
		k := &Cluster{ID: testCluster, Format: n}
		next, err := v.apply([]op{{kind: putOp, key: keyOf(k), expect: revision(keyOf(k)), desc: k}}, counters{})
		if err != nil {
			t.Fatal(err)
		}
		v = next
	}
	format(clusterversion.First)
	validation := &Job{ID: 9, Kind: ValidationJob, State: JobRunning, Payload: []byte("{}")}
	later := slices.Concat(classOps(), methodOps(), hotOps(), zoneOps(), forwardingOps(t), segmentOps(), resegmentOps()[:1], prefixOps(), lostOps(), statisticsOps(), targetOps(), extendedOps(), viewOps()[1:], typeOps(), domainOps(), compositeOps(), functionOps(), triggerOps(), rowSecurityOps(), accessOps(t), []op{{kind: putOp, key: keyOf(validation), desc: validation}})
	seen := map[int]bool{}
	for _, o := range later {
		uses := usesOf(o.desc)
		for i := range uses {
			seen[i] = true
		}
		if err := v.mayPut(o.desc); (err != nil) != (len(uses) > 0) || err != nil && !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
			t.Errorf("%T: %v", o.desc, err)
		}
	}
	if len(seen) != len(features) {
		t.Errorf("%d of %d features are in the golden files", len(seen), len(features))
	}
	for _, o := range slices.Concat(fullOps(t), laterOps(), addingOps(), referringOps(), memberOps(), sequenceOps(), nodeOps(), replicaOps(), deferrableKeyOps(), factorOps()) {
		if err := v.mayPut(o.desc); err != nil {
			t.Errorf("%T of the first version: %v", o.desc, err)
		}
	}
	zones := zoneOps()[0] // a cluster that has rules of labels while it is at the first version
	ops := fullOps(t)
	ops[1] = zones
	older, err := emptyView().apply(ops, counters{oid: 16448, fragment: 3, node: 2, job: 2})
	if err != nil {
		t.Fatal(err)
	}
	changed := zones.desc.(*Database).Clone()
	changed.Comment = "x"
	if err := older.mayPut(changed); err != nil {
		t.Errorf("what uses it already: %v", err)
	}
	format(clusterversion.Newest)
	for _, o := range later {
		if err := v.mayPut(o.desc); err != nil {
			t.Errorf("%T: %v", o.desc, err)
		}
	}
}
