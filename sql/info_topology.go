package sql

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
)

// reshape refuses who may not change where buckets lie. These functions act at once, whatever becomes of the transaction around them.
func (i info) reshape(function string) error {
	me := i.view().Role(i.role)
	if me == nil || !me.Superuser && me.Name != catalog.AdminRoleName {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", function).
			WithHint("Only superusers and the role %s may change where buckets lie.", catalog.AdminRoleName)
	}
	if i.ctx == nil {
		return pgerr.Unsupported("sherd.%s() cannot run here", function)
	}
	return i.mayWrite(function)
}

// mayWrite refuses a function that acts at once in a transaction that only reads.
func (i info) mayWrite(function string) error {
	if i.tx != nil && i.tx.Modes.ReadOnly {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute sherd.%s() in a read-only transaction", function)
	}
	return nil
}

// topology changes the topology of a named database, if the session may.
func (i info) topology(function, database string, change func(d *catalog.Database, c *catalog.Change) error) error {
	if err := i.reshape(function); err != nil {
		return err
	}
	_, err := i.db.cfg.Catalog.Update(i.ctx, func(v *catalog.View, c *catalog.Change) error {
		d := v.DatabaseByName(database)
		if d == nil {
			return pgerr.New(pgerr.InvalidCatalogName, `database "%s" does not exist`, database)
		}
		return change(d, c)
	})
	return err
}

// MoveBuckets implements builtin.TopologyInfo.
func (i info) MoveBuckets(database string, v shardmap.Interval, fragment string, o builtin.MoveOptions) (int64, error) {
	return i.move("move_buckets", database, v, fragment, o)
}

// MoveBucket implements builtin.TopologyInfo.
func (i info) MoveBucket(database string, b shardmap.Bucket, fragment string, o builtin.MoveOptions) (int64, error) {
	return i.move("move_bucket", database, shardmap.OneBucket(b), fragment, o)
}

func (i info) move(function, database string, v shardmap.Interval, fragment string, o builtin.MoveOptions) (int64, error) {
	if err := i.reshape(function); err != nil {
		return 0, err
	}
	id, err := i.db.cfg.Catalog.NewJobID(i.ctx)
	if err != nil {
		return 0, err
	}
	err = i.topology(function, database, func(d *catalog.Database, c *catalog.Change) error {
		f, err := d.FragmentNamed(fragment)
		if err != nil {
			return err
		}
		return c.AddMove(id, d.OID, &catalog.Move{Interval: v, Target: f.ID}, i.author(o.Why))
	})
	if err == nil && o.Wait {
		err = i.waitMove(id)
	}
	return int64(id), err
}

func errEmptyAnchor() error {
	return pgerr.New(pgerr.InvalidParameterValue, "an anchor must not be empty").WithHint("Name an id, as in 'customers/1-A'.")
}

// bucketOf gives the bucket of an id of a collection of the session's database.
func (i info) bucketOf(id string) (shardmap.Interval, error) {
	if id == "" {
		return shardmap.Interval{}, errEmptyAnchor()
	}
	b, err := i.names().Database.Rules().BucketOf(id)
	return shardmap.OneBucket(b), err
}

// MoveAnchor implements builtin.TopologyInfo.
func (i info) MoveAnchor(id, fragment string, o builtin.MoveOptions) (int64, error) {
	v, err := i.bucketOf(id)
	if err != nil {
		return 0, err
	}
	return i.move("move_anchor", i.CurrentDatabase(), v, fragment, o)
}

// IsolateAnchor implements builtin.TopologyInfo. The bucket is pinned to the new fragment when it is there, by the move's own job.
func (i info) IsolateAnchor(id string, o builtin.MoveOptions) (string, error) {
	const function = "isolate_anchor"
	v, err := i.bucketOf(id)
	if err == nil {
		err = i.reshape(function)
	}
	if err != nil {
		return "", err
	}
	job, err := i.db.cfg.Catalog.NewJobID(i.ctx)
	if err != nil {
		return "", err
	}
	name, err := i.addFragment(function, i.CurrentDatabase(), func(d catalog.OID, f uint32, nodes []uint32, c *catalog.Change) (string, error) {
		return c.Isolate(d, f, nodes, job, v, id, i.author(o.Why))
	})
	if err == nil && o.Wait {
		err = i.waitMove(job)
	}
	return name, err
}

// AddFragment implements builtin.TopologyInfo.
func (i info) AddFragment(database, why string) (string, error) {
	return i.addFragment("add_fragment", database, func(d catalog.OID, f uint32, nodes []uint32, c *catalog.Change) (string, error) {
		return c.AddFragment(d, f, nodes, i.author(why))
	})
}

// addFragment makes a change that adds a fragment of a number on nodes, gives its name, and waits until it serves.
func (i info) addFragment(function, database string, add func(database catalog.OID, fragment uint32, nodes []uint32, c *catalog.Change) (string, error)) (name string, err error) {
	if err := i.reshape(function); err != nil {
		return "", err
	}
	ids, err := i.db.cfg.Catalog.NewFragmentIDs(i.ctx, 1)
	if err != nil {
		return "", err
	}
	var oid catalog.OID
	err = i.topology(function, database, func(d *catalog.Database, c *catalog.Change) (err error) {
		sites := c.Base().Sites()
		for n := range sites {
			sites[n].Silent = i.db.cfg.Fragments.Silent(sites[n].ID)
		}
		oid = d.OID
		name, err = add(d.OID, ids[0], shardmap.FirstPlacement(sites, c.Base().ReplicaSets(), d.ReplicationFactor, d.Labels), c)
		return err
	})
	if err != nil {
		return "", err
	}
	if d := i.db.cfg.Catalog.View().Database(oid); d != nil {
		err = i.db.cfg.Fragments.WaitFragments(i.ctx, d)
	}
	return name, err
}

// databaseOfFragment gives the name of the database in the name of a fragment, orders$1.
func databaseOfFragment(fragment string) (string, error) {
	at := strings.LastIndexByte(fragment, '$')
	if at <= 0 {
		return "", pgerr.New(pgerr.UndefinedObject, `fragment "%s" does not exist`, fragment).
			WithHint("Fragments are named like orders$1: the database and a number. sherd.fragments lists them.")
	}
	return fragment[:at], nil
}

// RemoveFragment implements builtin.TopologyInfo.
func (i info) RemoveFragment(fragment string, o builtin.MoveOptions) (int64, error) {
	const function = "remove_fragment"
	if err := i.reshape(function); err != nil {
		return 0, err
	}
	database, err := databaseOfFragment(fragment)
	if err != nil {
		return 0, err
	}
	id, err := i.db.cfg.Catalog.NewJobID(i.ctx)
	if err != nil {
		return 0, err
	}
	err = i.topology(function, database, func(d *catalog.Database, c *catalog.Change) error {
		f, err := d.FragmentNamed(fragment)
		if err != nil {
			return err
		}
		return c.RemoveFragment(id, d.OID, f.ID, i.author(o.Why))
	})
	if err == nil && o.Wait {
		err = i.waitJob(id, func(j *catalog.Job) string {
			r, err := j.Removal()
			if err != nil {
				return ""
			}
			return progressText(i.view().Database(j.Database), r.Fragment, r.Waits)
		})
	}
	return int64(id), err
}

func progressText(d *catalog.Database, fragment uint32, waits string) string {
	if d == nil {
		return ""
	}
	text := fmt.Sprintf("%s has %d buckets left", d.NameOf(fragment), d.Map.Owned(fragment).Len())
	if waits != "" {
		text += ", waits for " + waits
	}
	return text
}

// SplitRange implements builtin.TopologyInfo.
func (i info) SplitRange(database string, bucket uint32) error {
	return i.topology("split_range", database, func(d *catalog.Database, c *catalog.Change) error {
		return c.SplitRange(d.OID, bucket, i.author(""))
	})
}

// MergeRanges implements builtin.TopologyInfo.
func (i info) MergeRanges(database string, bucket uint32) error {
	return i.topology("merge_ranges", database, func(d *catalog.Database, c *catalog.Change) error {
		return c.MergeRanges(d.OID, bucket, i.author(""))
	})
}

// Pin implements builtin.TopologyInfo.
func (i info) Pin(database string, v shardmap.Interval, fragment, why string) error {
	return i.topology("pin", database, func(d *catalog.Database, c *catalog.Change) error {
		f, err := d.FragmentNamed(fragment)
		if err != nil {
			return err
		}
		return c.Pin(d.OID, v, f.ID, i.author(why))
	})
}

// Unpin implements builtin.TopologyInfo.
func (i info) Unpin(database string, v shardmap.Interval, why string) error {
	return i.topology("unpin", database, func(d *catalog.Database, c *catalog.Change) error { return c.Unpin(d.OID, v, i.author(why)) })
}

// PauseMove implements builtin.TopologyInfo.
func (i info) PauseMove(move int64, why string) error {
	return i.controlMove("pause_move", move, why, (*catalog.Change).PauseMove)
}

// ResumeMove implements builtin.TopologyInfo.
func (i info) ResumeMove(move int64, why string) error {
	return i.controlMove("resume_move", move, why, (*catalog.Change).ResumeMove)
}

// CancelMove implements builtin.TopologyInfo.
func (i info) CancelMove(move int64, why string) error {
	return i.controlMove("cancel_move", move, why, (*catalog.Change).CancelMove)
}

func (i info) controlMove(function string, move int64, why string, do func(*catalog.Change, uint64, catalog.Author) error) error {
	if err := i.reshape(function); err != nil {
		return err
	}
	if move <= 0 {
		return pgerr.New(pgerr.UndefinedObject, "move %d does not exist", move).WithHint("sherd.moves lists them.")
	}
	_, err := i.db.cfg.Catalog.Update(i.ctx, func(_ *catalog.View, c *catalog.Change) error { return do(c, uint64(move), i.author(why)) })
	return err
}
