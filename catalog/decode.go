package catalog

import (
	"errors"
	"fmt"
	"math"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/shardmap"
)

// decodeObject reads the durable form of a descriptor. The result is well formed, but not yet
// checked against other objects.
func decodeObject(o *pb.Object) (descriptor, error) {
	switch k := o.GetKind().(type) {
	case *pb.Object_Cluster:
		c := k.Cluster
		return &Cluster{ID: c.GetId(), Format: c.GetFormat(), Settings: c.GetSettings()}, nil
	case *pb.Object_Database:
		return decodeDatabase(k.Database)
	case *pb.Object_Schema:
		s := k.Schema
		return &Schema{OID: s.GetOid(), Database: s.GetDatabase(), Name: s.GetName(), Owner: s.GetOwner(),
			Comment: s.GetComment(), ACL: decodeACL(s.GetAcl())}, nil
	case *pb.Object_Table:
		return decodeTable(k.Table)
	case *pb.Object_Role:
		return decodeRole(k.Role), nil
	case *pb.Object_Node:
		n := k.Node
		return &Node{
			ID: n.GetId(), Name: n.GetName(), Block: n.GetBlock(), SQLAddr: n.GetSqlAddr(), NodeAddr: n.GetNodeAddr(),
			HTTPAddr: n.GetHttpAddr(),
			Labels:   n.GetLabels(), Gateway: n.GetGateway(), Release: n.GetRelease(), Speaks: n.GetSpeaks(),
			State:  decodeNodeState(n.GetState()),
			Weight: n.GetWeight(), MaxBytes: n.GetMaxBytes(),
		}, nil
	case *pb.Object_Job:
		return decodeJob(k.Job), nil
	case *pb.Object_Authority:
		return decodeAuthority(k.Authority)
	case *pb.Object_JoinToken:
		return decodeJoinToken(k.JoinToken)
	case *pb.Object_Record:
		return decodeRecord(k.Record)
	case *pb.Object_Statistics:
		return &Statistics{Table: k.Statistics.GetTable(), Encoded: k.Statistics.GetEncoded()}, nil
	case *pb.Object_Type:
		return decodeType(k.Type), nil
	case *pb.Object_Function:
		return decodeFunction(k.Function), nil
	}
	return nil, errors.New("object of an unknown kind")
}

func decodeDatabase(p *pb.Database) (*Database, error) {
	d := &Database{
		OID: p.GetOid(), Name: p.GetName(), Owner: p.GetOwner(), ConnectionLimit: p.GetConnectionLimit(),
		Settings: p.GetSettings(), Comment: p.GetComment(),
		ReplicationFactor: int(p.GetReplicationFactor()),
	}
	if d.ReplicationFactor == 0 {
		d.ReplicationFactor = DefaultReplicationFactor
	}
	var err error
	if d.Labels, err = shardmap.ParseLabelRule(p.GetLabels()); err != nil {
		return nil, fmt.Errorf("database %q: %w", d.Name, err)
	}
	for _, f := range p.GetFragments() {
		labels, err := shardmap.ParseLabelRule(f.GetLabels())
		if err != nil {
			return nil, fmt.Errorf("fragment %d: %w", f.GetId(), err)
		}
		d.Fragments = append(d.Fragments, Fragment{
			ID: f.GetId(), Ordinal: int(f.GetOrdinal()), Nodes: f.GetNodes(), Joining: f.GetJoining(),
			Leaving: f.GetLeaving(),
			Added:   f.GetAdded(), Draining: f.GetDraining(), Replicas: int(f.GetReplicas()), On: f.GetOn(),
			Labels: labels,
		})
	}
	for _, x := range p.GetPins() {
		d.Pins = append(d.Pins, Pin{shardmap.Interval{Lo: x.GetLo(), Hi: x.GetHi()}, x.GetFragment(), x.GetAnchors()})
	}
	d.PrefixEpoch = p.GetPrefixEpoch()
	decodeAccess(p, d)
	for _, x := range p.GetPrefixes() {
		d.Prefixes = append(d.Prefixes, PrefixRule{decodePrefix(x), x.GetFragments()})
	}
	var ranges []shardmap.Range
	for _, r := range p.GetMap().GetRanges() {
		ranges = append(ranges, shardmap.Range{Interval: shardmap.Interval{Lo: r.GetLo(), Hi: r.GetHi()},
			Fragment: r.GetFragment()})
	}
	if d.Map, err = shardmap.NewAssignedMap(p.GetMap().GetEpoch(), ranges, p.GetMap().GetTop()); err != nil {
		return nil, fmt.Errorf("database %q: %w", d.Name, err)
	}
	return d, nil
}

func decodePrefix(p *pb.PrefixRule) shardmap.Prefix {
	return shardmap.Prefix{Text: p.GetPrefix(), Interval: shardmap.Interval{Lo: p.GetLo(), Hi: p.GetHi()}}
}

func decodeTable(p *pb.Table) (*Table, error) {
	t := &Table{
		OID: p.GetOid(), Database: p.GetDatabase(), Schema: p.GetSchema(), Name: p.GetName(), Owner: p.GetOwner(),
		Kind:    RelKind(p.GetKind()),
		Version: p.GetVersion(), StorageID: p.GetStorageId(), Anchors: p.GetAnchors(), AnchorBy: p.GetAnchorBy(),
		PolicyValidated: p.GetPolicyValidated(), Options: p.GetOptions(), Comment: p.GetComment(),
	}
	t.Forwarding, t.ForwardingOf = p.GetForwarding(), p.GetForwardingOf()
	d := attNumDecoder{}
	t.Document, t.NextAttNum = d.num(p.GetDocument()), d.num(p.GetNextAttnum())
	t.Segments = decodeSegments(p.GetSegments())
	t.PrefixEpoch = p.GetPrefixEpoch()
	for _, x := range p.GetPrefixes() {
		t.Prefixes = append(t.Prefixes, decodePrefix(x))
	}
	if p.GetPolicy() != "" {
		policy, err := shardmap.ParsePolicyJSON(p.GetPolicy())
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", t.Name, err)
		}
		t.Policy = policy
	}
	if len(p.GetColumnComments()) > 0 {
		t.ColumnComments = map[int16]string{}
		for n, c := range p.GetColumnComments() {
			t.ColumnComments[d.num(n)] = c
		}
	}
	for _, c := range p.GetColumns() {
		t.Columns = append(t.Columns, d.column(c))
	}
	for _, c := range p.GetConstraints() {
		t.Constraints = append(t.Constraints, d.constraint(c))
	}
	for _, x := range p.GetIndexes() {
		t.Indexes = append(t.Indexes, d.index(x))
	}
	t.Sequence, t.Hot, t.HotOf = d.sequence(p.GetSequence()), d.hot(p.GetHot()), p.GetHotOf()
	t.Statistics, t.Triggers = d.extended(p.GetStatistics()), d.triggers(p.GetTriggers())
	t.KeyTriggers = byte(p.GetKeyTriggers())
	t.View, t.ACL = d.viewRule(p.GetView()), decodeACL(p.GetAcl())
	t.RowSecurity = d.rowSecurity(p.GetRowSecurity())
	if d.overflow {
		return nil, fmt.Errorf("table %q: attribute number out of range", t.Name)
	}
	return t, nil
}

// attNumDecoder narrows numbers to attribute numbers and remembers whether one did not fit.
type attNumDecoder struct{ overflow bool }

func (d *attNumDecoder) num(n int32) int16 {
	if n < 0 || n > math.MaxInt16 {
		d.overflow = true
	}
	return int16(n)
}

func (d *attNumDecoder) nums(ns []int32) []int16 {
	var out []int16
	for _, n := range ns {
		out = append(out, d.num(n))
	}
	return out
}

func (d *attNumDecoder) column(c *pb.Column) Column {
	return Column{
		AttNum: d.num(c.GetAttnum()), Name: c.GetName(), Type: c.GetType(), Typmod: c.GetTypmod(),
		Collation: c.GetCollation(), NotNull: c.GetNotNull(),
		Default: c.GetDefault(), Identity: byte(c.GetIdentity()), Generated: c.GetGenerated(), Missing: c.GetMissing(),
		Dropped: c.GetDropped(),
		Adding:  c.GetAdding(), Sequence: c.GetSequence(), Target: c.GetStatisticsTarget(),
		ACL: decodeACL(c.GetAcl()),
	}
}

func (d *attNumDecoder) constraint(c *pb.Constraint) Constraint {
	return Constraint{
		OID: c.GetOid(), Name: c.GetName(), Kind: ConstraintKind(c.GetKind()), Columns: d.nums(c.GetColumns()),
		Check:     c.GetCheck(),
		NoInherit: c.GetNoInherit(), Valid: c.GetValid(), Index: c.GetIndex(), Comment: c.GetComment(),
		Deferrable: c.GetDeferrable(), InitiallyDeferred: c.GetInitiallyDeferred(), Primary: c.GetPrimary(),
		Reference: d.reference(c.GetReference()),
	}
}

func (d *attNumDecoder) index(p *pb.Index) Index {
	x := Index{
		OID: p.GetOid(), Name: p.GetName(), StorageID: p.GetStorageId(), Columns: d.nums(p.GetColumns()),
		Unique: p.GetUnique(), Primary: p.GetPrimary(),
		Comment: p.GetComment(), Expressions: p.GetExpressions(), Predicate: p.GetPredicate(),
		Include:          d.nums(p.GetInclude()),
		NullsNotDistinct: p.GetNullsNotDistinct(), Global: p.GetGlobal(), State: IndexState(p.GetState()),
		Options: p.GetOptions(), Classes: p.GetClasses(), Targets: p.GetStatisticsTargets(),
		Method: AccessMethod(p.GetMethod()),
	}
	for _, o := range p.GetOrder() {
		x.Order = append(x.Order, KeyOrder(o))
	}
	return x
}

func decodeRole(r *pb.Role) *Role {
	return &Role{
		OID: r.GetOid(), Name: r.GetName(), Superuser: r.GetSuperuser(), Inherit: r.GetInherit(),
		CreateRole: r.GetCreateRole(), CreateDB: r.GetCreateDb(),
		Login: r.GetLogin(), Replication: r.GetReplication(), BypassRLS: r.GetBypassRls(),
		ConnectionLimit: r.GetConnectionLimit(),
		Password:        r.GetPassword(), ValidUntil: r.GetValidUntil(), Settings: r.GetSettings(),
		Comment: r.GetComment(), MemberOf: decodeMemberships(r.GetMemberOf()),
	}
}

func decodeJob(j *pb.Job) *Job {
	return &Job{
		ID: j.GetId(), Kind: j.GetKind(), State: JobState(j.GetState()), Database: j.GetDatabase(), Table: j.GetTable(),
		Payload: j.GetPayload(),
		Done:    j.GetDone(), Total: j.GetTotal(), Error: j.GetError(), StartedMicros: j.GetStartedMicros(),
		UpdatedMicros: j.GetUpdatedMicros(), Node: j.GetNode(), Swept: j.GetSwept(),
	}
}

func (d *attNumDecoder) reference(r *pb.Reference) *Reference {
	if r == nil {
		return nil
	}
	return &Reference{
		Table: r.GetTable(), Columns: d.nums(r.GetColumns()), Index: r.GetIndex(), Match: Match(r.GetMatch()),
		OnUpdate: Action(r.GetOnUpdate()),
		OnDelete: Action(r.GetOnDelete()), DeleteColumns: d.nums(r.GetDeleteColumns()),
	}
}

// decodeNodeState maps an unknown state to NodeDraining, in which a node gets no replicas.
func decodeNodeState(s uint32) NodeState {
	if s > uint32(NodeLost) {
		return NodeDraining
	}
	return NodeState(s)
}

func decodeSegments(list []*pb.Segment) (out shardmap.Segments) {
	for _, s := range list {
		out = append(out, shardmap.Segment{Start: s.GetStart(), Bucket: shardmap.Bucket(s.GetBucket()),
			Automatic: s.GetAutomatic()})
	}
	return out
}
