package catalog

import (
	"slices"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/pgerr"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
)

// feature is something in descriptors that a version of the cluster introduced. A node that does
// not know that version would read such a descriptor and lose it.
type feature struct {
	since uint32
	what  string // in the plural, for messages
	// fields of the durable form that have a value only if the feature is used
	fields []protoreflect.FullName
	// Reports uses of the feature that no field shows; nil if there are none.
	values func(d descriptor) bool
}

// features lists the features of all versions except the first.
var features = []feature{
	{
		clusterversion.RangeTables, "range tables and key ranges",
		[]protoreflect.FullName{"sherd.catalog.Table.segments", "sherd.catalog.BucketMap.top",
			"sherd.catalog.Move.resegment", "sherd.catalog.Move.segments", "sherd.catalog.Move.more_segments"},
		kinds(ResegmentJob),
	},
	{
		clusterversion.SplitDocuments, "counters and split documents",
		[]protoreflect.FullName{"sherd.catalog.Table.hot", "sherd.catalog.Table.hot_of"}, option("counters"),
	},
	{
		clusterversion.FormerIDs, "former ids and the jobs that make them",
		[]protoreflect.FullName{"sherd.catalog.Table.forwarding", "sherd.catalog.Table.forwarding_of"},
		kinds(ReplacementJob, RewritingJob),
	},
	{clusterversion.ValidationJobs, "validation of policies in the background", nil, kinds(ValidationJob)},
	{
		clusterversion.LabelRules, "rules of labels",
		[]protoreflect.FullName{"sherd.catalog.Database.labels", "sherd.catalog.Fragment.labels"}, nil,
	},
	{
		clusterversion.PinnedAnchors, "pins of anchors",
		[]protoreflect.FullName{"sherd.catalog.Pin.anchors", "sherd.catalog.Move.anchors"}, nil,
	},
	{
		clusterversion.PrefixRules, "rules for prefixes",
		[]protoreflect.FullName{
			"sherd.catalog.Database.prefixes", "sherd.catalog.Database.prefix_epoch", "sherd.catalog.Table.prefixes",
			"sherd.catalog.Table.prefix_epoch",
		}, nil,
	},
	{clusterversion.LostNodes, "nodes that were declared lost", nil, isLost},
	{
		clusterversion.OperatorClasses, "operator classes of indexes",
		[]protoreflect.FullName{"sherd.catalog.Index.classes"}, nil,
	},
	{
		clusterversion.TableStatistics, "statistics of tables",
		[]protoreflect.FullName{"sherd.catalog.Object.statistics"}, nil,
	},
	{
		clusterversion.StatisticsTargets, "statistics targets",
		[]protoreflect.FullName{
			"sherd.catalog.Column.statistics_target", "sherd.catalog.Index.statistics_targets",
		}, nil,
	},
	{
		clusterversion.ExtendedStatistics, "objects of CREATE STATISTICS",
		[]protoreflect.FullName{"sherd.catalog.Table.statistics"}, nil,
	},
	{clusterversion.Views, "views", []protoreflect.FullName{"sherd.catalog.Table.view"}, nil},
	{
		clusterversion.AccessMethods, "indexes of access methods other than btree",
		[]protoreflect.FullName{"sherd.catalog.Index.method"}, nil,
	},
	{
		clusterversion.UserTypes, "types of CREATE TYPE",
		[]protoreflect.FullName{"sherd.catalog.Object.type"}, nil,
	},
	{
		clusterversion.Functions, "functions of CREATE FUNCTION",
		[]protoreflect.FullName{"sherd.catalog.Object.function"}, nil,
	},
	{
		clusterversion.Triggers, "triggers",
		[]protoreflect.FullName{"sherd.catalog.Table.triggers", "sherd.catalog.Table.key_triggers"}, nil,
	},
	{
		clusterversion.Privileges, "privileges and role memberships",
		[]protoreflect.FullName{
			"sherd.catalog.Database.acl", "sherd.catalog.Database.default_acls", "sherd.catalog.Database.languages",
			"sherd.catalog.Schema.acl", "sherd.catalog.Table.acl", "sherd.catalog.Column.acl",
			"sherd.catalog.Type.acl", "sherd.catalog.Function.acl", "sherd.catalog.Role.member_of",
		}, nil,
	},
	{
		clusterversion.RowSecurity, "row security",
		[]protoreflect.FullName{"sherd.catalog.Table.row_security"}, nil,
	},
}

// OrderedIndexesSince is the version of the cluster from which nodes read indexes in both directions
// and by bounds on several columns (View.Knows).
const OrderedIndexesSince = clusterversion.OrderedIndexes

// BatchedReadsSince is the version of the cluster from which a task may read for many sets of outer
// values (View.Knows).
const BatchedReadsSince = clusterversion.BatchedReads

// RuntimeFiltersSince is the version of the cluster from which tasks leave out rows by the keys of the
// other side of a join (View.Knows).
const RuntimeFiltersSince = clusterversion.RuntimeFilters

// option returns a function that reports whether a table has an option.
func option(name string) func(descriptor) bool {
	return func(d descriptor) bool {
		t, ok := d.(*Table)
		return ok && t.Options[name] != ""
	}
}

func isLost(d descriptor) bool {
	n, ok := d.(*Node)
	return ok && n.State == NodeLost
}

// kinds returns a function that reports whether a descriptor is a job of one of these kinds.
func kinds(of ...string) func(descriptor) bool {
	return func(d descriptor) bool {
		j, ok := d.(*Job)
		return ok && slices.Contains(of, j.Kind)
	}
}

// Knows reports whether the features of a version may be used. In a catalog without definitions all
// of them may.
func (v *View) Knows(version uint32) bool {
	k := v.Cluster()
	return k == nil || k.Format >= version
}

// mayPut refuses a descriptor with 55000 if it uses a feature that the version of the cluster does
// not have yet (V4). An object that already uses the feature may keep it.
func (v *View) mayPut(d descriptor) error {
	if v.Knows(clusterversion.Newest) {
		return nil
	}
	uses := usesOf(d)
	if len(uses) == 0 {
		return nil
	}
	e, _ := v.objects.Get(uint64(keyOf(d)))
	before := map[int]bool{}
	if e.desc != nil {
		before = usesOf(e.desc)
	}
	for i := range features {
		if f := &features[i]; uses[i] && !before[i] && !v.Knows(f.since) {
			return v.notYet(f.what, f.since)
		}
	}
	return nil
}

// notYet returns the error that a feature cannot be used before the upgrade is final. It names a
// node that prevents the upgrade, if there is one.
func (v *View) notYet(what string, since uint32) error {
	err := pgerr.New(pgerr.ObjectNotInPrerequisiteState,
		"%s cannot be used before the upgrade to version %d of the cluster is final", what, since)
	if n := v.behind(since); n != nil {
		return err.WithDetail(`The cluster is at version %d. Node "%s" last started with %s, `+
			`which knows version %d only.`, v.Cluster().Format, n.Name, releaseOf(n), max(n.Speaks, 1)).
			WithHint("Start all nodes with the new release. The upgrade is final a minute or two later, or with " +
				"SELECT sherd.finalize_upgrade().")
	}
	return err.WithDetail("The cluster is at version %d. All nodes run the new release.", v.Cluster().Format).
		WithHint("Use SELECT sherd.finalize_upgrade(), after which no node may go back to the release before.")
}

// usesOf returns the features that a descriptor uses, as indexes into features.
func usesOf(d descriptor) map[int]bool {
	uses := map[int]bool{}
	for i, f := range features {
		if f.values != nil && f.values(d) {
			uses[i] = true
		}
	}
	noteUses(encodeObject(0, d).ProtoReflect(), uses)
	if j, ok := d.(*Job); ok && j.moves() {
		var m pb.Move
		if proto.Unmarshal(j.Payload, &m) == nil {
			noteUses(m.ProtoReflect(), uses)
		}
	}
	return uses
}

// noteUses adds the features whose fields have values in a message or in its submessages.
func noteUses(m protoreflect.Message, uses map[int]bool) {
	m.Range(func(fd protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		for i := range features {
			if slices.Contains(features[i].fields, fd.FullName()) {
				uses[i] = true
			}
		}
		switch {
		case fd.Message() == nil || fd.IsMap(): // no map of the catalog has messages
		case fd.IsList():
			for i := range value.List().Len() {
				noteUses(value.List().Get(i).Message(), uses)
			}
		default:
			noteUses(value.Message(), uses)
		}
		return true
	})
}
