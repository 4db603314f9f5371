package catalog

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// OIDs that PostgreSQL 15 assigns to the objects of initdb; client tools know them.
const (
	BootstrapRole     OID = 10   // the superuser postgres
	PostgresDB        OID = 5    // the database postgres
	PostgresPublic    OID = 2200 // its schema public; that of another database has a different OID
	DatabaseOwnerRole OID = 6171 // pg_database_owner, the owner of every schema public
)

// AdminRole is the OID of the role that may change where buckets are, as superusers may.
const AdminRole OID = 9001

// AdminRoleName is its name.
const AdminRoleName = "sherd_admin"

const bootstrapName = "postgres"

// PublicSchemaComment is PostgreSQL's comment on the schema public.
const PublicSchemaComment = "standard public schema"

// predefinedRoles are PostgreSQL 15's predefined roles and Sherd's own. Every cluster has them;
// they cannot log in.
var predefinedRoles = [...]struct {
	oid  OID
	name string
}{
	{3373, "pg_monitor"},
	{3374, "pg_read_all_settings"},
	{3375, "pg_read_all_stats"},
	{3377, "pg_stat_scan_tables"},
	{4200, "pg_signal_backend"},
	{4544, "pg_checkpoint"},
	{4569, "pg_read_server_files"},
	{4570, "pg_write_server_files"},
	{4571, "pg_execute_server_program"},
	{DatabaseOwnerRole, "pg_database_owner"},
	{6181, "pg_read_all_data"},
	{6182, "pg_write_all_data"},
	{AdminRole, AdminRoleName},
}

// BootstrapOptions describe a new cluster.
type BootstrapOptions struct {
	ClusterID    string
	Fragments    int    // of the database postgres
	Replication  int    // its replication factor, 0 is the default
	Node         Node   // the first node; its ID must be 1
	Format       uint32 // the version of the cluster (V4), 0 is the newest
	PasswordHash string // SCRAM-SHA-256 verifier of the superuser, "" if there is none
}

// Bootstrap creates the cluster's first definitions if the catalog is empty: the cluster, the
// superuser postgres, the database postgres with its fragments and bucket map, its schema public,
// and the first node. It reports whether it created them. In a catalog that is not empty it only
// checks the cluster's id.
func (c *Catalog) Bootstrap(ctx context.Context, o BootstrapOptions) (created bool, err error) {
	if k := c.View().Cluster(); k != nil {
		return false, checkClusterID(k, o.ClusterID)
	}
	if o.Fragments < 1 || o.Fragments > shardmap.BucketCount {
		return false, pgerr.New(pgerr.InvalidParameterValue, "the number of fragments must be between 1 and %d",
			shardmap.BucketCount)
	}
	if o.Replication != 0 {
		if err := CheckFactor(o.Replication); err != nil {
			return false, err
		}
	}
	first, err := c.allot(ctx, allotment{fragments: uint32(o.Fragments), nodes: 1})
	if err != nil {
		return false, err
	}
	ids := make([]uint32, o.Fragments)
	for i := range ids {
		ids[i] = uint32(first.fragment) + uint32(i)
	}
	_, err = c.Update(ctx, func(v *View, ch *Change) error {
		if k := v.Cluster(); k != nil {
			created = false
			return checkClusterID(k, o.ClusterID)
		}
		created = true
		return ch.bootstrap(o, ids)
	})
	return created && err == nil, err
}

func checkClusterID(k *Cluster, id string) error {
	if k.ID != id {
		return fmt.Errorf("the catalog belongs to cluster %s, the data directory to cluster %s", k.ID, id)
	}
	return nil
}

func (c *Change) bootstrap(o BootstrapOptions, fragments []uint32) error {
	db := &Database{
		OID: PostgresDB, Name: bootstrapName, Owner: BootstrapRole, ConnectionLimit: -1,
		Map:     shardmap.NewInitialMap(fragments),
		Comment: "default administrative connection database", ReplicationFactor: o.Replication,
	}
	if db.ReplicationFactor == 0 {
		db.ReplicationFactor = DefaultReplicationFactor
	}
	for i, id := range fragments {
		db.Fragments = append(db.Fragments, Fragment{ID: id, Ordinal: i, Nodes: []uint32{o.Node.ID}})
	}
	steps := []descriptor{
		&Cluster{ID: o.ClusterID, Format: cmp.Or(o.Format, clusterversion.Newest)},
		&Role{
			OID: BootstrapRole, Name: bootstrapName, Superuser: true, Inherit: true, CreateRole: true, CreateDB: true,
			Login:       true,
			Replication: true, BypassRLS: true, ConnectionLimit: -1, Password: o.PasswordHash,
		},
		db,
		&Schema{OID: PostgresPublic, Database: PostgresDB, Name: "public", Owner: DatabaseOwnerRole,
			Comment: PublicSchemaComment},
		o.Node.Clone(),
	}
	for _, r := range predefinedRoles {
		steps = append(steps, predefinedRole(r.oid, r.name))
	}
	for _, d := range steps {
		if err := c.put(d); err != nil {
			return err
		}
	}
	return nil
}
