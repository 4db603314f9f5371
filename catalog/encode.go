package catalog

import (
	"fmt"
	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/shardmap"
	"google.golang.org/protobuf/proto"
)

// encodeObject returns the durable form of a descriptor.
func encodeObject(revision uint64, d descriptor) *pb.Object {
	o := &pb.Object{Revision: revision}
	switch d := d.(type) {
	case *Cluster:
		o.Kind = &pb.Object_Cluster{Cluster: &pb.Cluster{Id: d.ID, Format: d.Format, Settings: d.Settings}}
	case *Database:
		o.Kind = &pb.Object_Database{Database: encodeDatabase(d)}
	case *Schema:
		o.Kind = &pb.Object_Schema{Schema: &pb.Schema{Oid: d.OID, Database: d.Database, Name: d.Name, Owner: d.Owner,
			Comment: d.Comment, Acl: encodeACL(d.ACL)}}
	case *Table:
		o.Kind = &pb.Object_Table{Table: encodeTable(d)}
	case *Role:
		o.Kind = &pb.Object_Role{Role: encodeRole(d)}
	case *Node:
		o.Kind = &pb.Object_Node{Node: &pb.Node{
			Id: d.ID, Name: d.Name, Block: d.Block, SqlAddr: d.SQLAddr, NodeAddr: d.NodeAddr, HttpAddr: d.HTTPAddr,
			Labels:  d.Labels,
			Gateway: d.Gateway, Release: d.Release, Speaks: d.Speaks, State: uint32(d.State),
			Weight: d.Weight, MaxBytes: d.MaxBytes,
		}}
	case *Job:
		o.Kind = &pb.Object_Job{Job: encodeJob(d)}
	case *Authority:
		o.Kind = &pb.Object_Authority{Authority: &pb.Authority{Id: d.ID, Phase: uint32(d.Phase), Secret: d.Secret}}
	case *JoinToken:
		o.Kind = &pb.Object_JoinToken{JoinToken: &pb.JoinToken{
			Hash: d.Hash, Authority: d.Authority, CreatedMicros: d.CreatedMicros, ExpiresMicros: d.ExpiresMicros,
			Node: d.Node, UsedBy: d.UsedBy,
		}}
	case *Record:
		o.Kind = &pb.Object_Record{Record: encodeRecord(d)}
	case *Statistics:
		o.Kind = &pb.Object_Statistics{Statistics: &pb.Statistics{Table: d.Table, Encoded: d.Encoded}}
	case *Type:
		o.Kind = &pb.Object_Type{Type: encodeType(d)}
	case *Function:
		o.Kind = &pb.Object_Function{Function: encodeFunction(d)}
	default:
		panic("catalog: no descriptor")
	}
	return o
}

func encodeDatabase(d *Database) *pb.Database {
	p := &pb.Database{
		Oid: d.OID, Name: d.Name, Owner: d.Owner, Map: encodeMap(d.Map), ConnectionLimit: d.ConnectionLimit,
		Settings: d.Settings, Comment: d.Comment,
		Labels: d.Labels.String(),
	}
	if d.ReplicationFactor != DefaultReplicationFactor {
		p.ReplicationFactor = uint32(d.ReplicationFactor)
	}
	for _, f := range d.Fragments {
		p.Fragments = append(p.Fragments, &pb.Fragment{
			Id: f.ID, Ordinal: uint32(f.Ordinal), Nodes: f.Nodes, Joining: f.Joining, Leaving: f.Leaving,
			Added: f.Added, Draining: f.Draining,
			Replicas: uint32(f.Replicas), On: f.On, Labels: f.Labels.String(),
		})
	}
	for _, x := range d.Pins {
		p.Pins = append(p.Pins, &pb.Pin{Lo: x.Lo, Hi: x.Hi, Fragment: x.Fragment, Anchors: x.Anchors})
	}
	for _, r := range d.Prefixes {
		p.Prefixes = append(p.Prefixes, &pb.PrefixRule{Prefix: r.Text, Lo: r.Lo, Hi: r.Hi, Fragments: r.Fragments})
	}
	p.PrefixEpoch = d.PrefixEpoch
	encodeAccess(d, p)
	return p
}

func encodeMap(m *shardmap.Map) *pb.BucketMap {
	p := &pb.BucketMap{Epoch: m.Epoch()}
	for _, r := range m.Ranges() {
		p.Ranges = append(p.Ranges, &pb.BucketRange{Lo: r.Lo, Hi: r.Hi, Fragment: r.Fragment})
	}
	if m.Top() > shardmap.BucketCount {
		p.Top = m.Top()
	}
	return p
}

func encodeSegments(s shardmap.Segments) (out []*pb.Segment) {
	for i := range s {
		out = append(out, &pb.Segment{Start: s[i].Start, Bucket: uint32(s[i].Bucket), Automatic: s[i].Automatic})
	}
	return out
}

func encodeTable(t *Table) *pb.Table {
	p := &pb.Table{
		Oid: t.OID, Database: t.Database, Schema: t.Schema, Name: t.Name, Owner: t.Owner, Kind: uint32(t.Kind),
		Version: t.Version, StorageId: t.StorageID,
		Anchors: t.Anchors, Document: int32(t.Document), AnchorBy: t.AnchorBy, PolicyValidated: t.PolicyValidated,
		Options: t.Options, Comment: t.Comment, NextAttnum: int32(t.NextAttNum), Forwarding: t.Forwarding,
		ForwardingOf: t.ForwardingOf, Segments: encodeSegments(t.Segments),
	}
	for _, r := range t.Prefixes {
		p.Prefixes = append(p.Prefixes, &pb.PrefixRule{Prefix: r.Text, Lo: r.Lo, Hi: r.Hi})
	}
	p.PrefixEpoch = t.PrefixEpoch
	if t.Policy != nil {
		p.Policy = t.Policy.JSON()
	}
	if len(t.ColumnComments) > 0 {
		p.ColumnComments = map[int32]string{}
		for n, c := range t.ColumnComments {
			p.ColumnComments[int32(n)] = c
		}
	}
	for i := range t.Columns {
		p.Columns = append(p.Columns, encodeColumn(&t.Columns[i]))
	}
	for i := range t.Constraints {
		p.Constraints = append(p.Constraints, encodeConstraint(&t.Constraints[i]))
	}
	for i := range t.Indexes {
		p.Indexes = append(p.Indexes, encodeIndex(&t.Indexes[i]))
	}
	p.Sequence, p.Hot, p.HotOf = encodeSequence(t.Sequence), encodeHot(t.Hot), t.HotOf
	p.Statistics, p.Triggers = encodeExtended(t.Statistics), encodeTriggers(t.Triggers)
	p.KeyTriggers = uint32(t.KeyTriggers)
	p.View, p.Acl, p.RowSecurity = encodeViewRule(t.View), encodeACL(t.ACL), t.RowSecurity.encode()
	return p
}

func encodeColumn(c *Column) *pb.Column {
	return &pb.Column{
		Attnum: int32(c.AttNum), Name: c.Name, Type: c.Type, Typmod: c.Typmod, Collation: c.Collation,
		NotNull: c.NotNull, Default: c.Default,
		Identity: uint32(c.Identity), Generated: c.Generated, Missing: c.Missing, Dropped: c.Dropped, Adding: c.Adding,
		Sequence: c.Sequence, StatisticsTarget: c.Target, Acl: encodeACL(c.ACL),
	}
}

func encodeConstraint(c *Constraint) *pb.Constraint {
	return &pb.Constraint{
		Oid: c.OID, Name: c.Name, Kind: uint32(c.Kind), Columns: encodeAttNums(c.Columns), Check: c.Check,
		NoInherit: c.NoInherit, Valid: c.Valid,
		Index: c.Index, Comment: c.Comment, Deferrable: c.Deferrable,
		InitiallyDeferred: c.InitiallyDeferred, Primary: c.Primary, Reference: encodeReference(c.Reference),
	}
}

func encodeIndex(x *Index) *pb.Index {
	p := &pb.Index{
		Oid: x.OID, Name: x.Name, StorageId: x.StorageID, Columns: encodeAttNums(x.Columns), Unique: x.Unique,
		Primary: x.Primary, Comment: x.Comment,
		Expressions: x.Expressions, Predicate: x.Predicate, Include: encodeAttNums(x.Include),
		NullsNotDistinct: x.NullsNotDistinct,
		Global:           x.Global, State: uint32(x.State), Options: x.Options, Classes: x.Classes,
		StatisticsTargets: x.Targets, Method: string(x.Method),
	}
	for _, o := range x.Order {
		p.Order = append(p.Order, byte(o))
	}
	return p
}

func encodeAttNums(ns []int16) []int32 {
	var out []int32
	for _, n := range ns {
		out = append(out, int32(n))
	}
	return out
}

func encodeRole(r *Role) *pb.Role {
	return &pb.Role{
		Oid: r.OID, Name: r.Name, Superuser: r.Superuser, Inherit: r.Inherit, CreateRole: r.CreateRole,
		CreateDb: r.CreateDB, Login: r.Login,
		Replication: r.Replication, BypassRls: r.BypassRLS, ConnectionLimit: r.ConnectionLimit, Password: r.Password,
		ValidUntil: r.ValidUntil,
		Settings:   r.Settings, Comment: r.Comment, MemberOf: encodeMemberships(r.MemberOf),
	}
}

func encodeJob(j *Job) *pb.Job {
	return &pb.Job{
		Id: j.ID, Kind: j.Kind, State: string(j.State), Database: j.Database, Table: j.Table, Payload: j.Payload,
		Done: j.Done, Total: j.Total,
		Error: j.Error, StartedMicros: j.StartedMicros, UpdatedMicros: j.UpdatedMicros, Node: j.Node, Swept: j.Swept,
	}
}

func encodeReference(r *Reference) *pb.Reference {
	if r == nil {
		return nil
	}
	return &pb.Reference{
		Table: r.Table, Columns: encodeAttNums(r.Columns), Index: r.Index, Match: uint32(r.Match),
		OnUpdate: uint32(r.OnUpdate),
		OnDelete: uint32(r.OnDelete), DeleteColumns: encodeAttNums(r.DeleteColumns),
	}
}

// MarshalTable encodes a table's definition as in the catalog's log, so that a definition that is
// not in force yet can be sent to another node.
func MarshalTable(t *Table) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(encodeTable(t))
	if err != nil {
		return nil, fmt.Errorf("catalog: table %q: %w", t.Name, err)
	}
	return b, nil
}

// UnmarshalTable decodes the output of MarshalTable.
func UnmarshalTable(b []byte) (*Table, error) {
	p := &pb.Table{}
	if err := proto.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("catalog: a table's definition is damaged: %w", err)
	}
	return decodeTable(p)
}
