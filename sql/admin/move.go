package admin

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// moving has the functions that move buckets.
var moving = []Function{
	{
		OID: 8040, Signature: "move_buckets(database text, from_bucket int4, to_bucket int4, fragment text, " +
			"wait bool DEFAULT false, why text DEFAULT ''::text) RETURNS int8",
		Call: moveBuckets,
		Comment: "moves the buckets [from_bucket, to_bucket) to a fragment, while they are read and written; returns " +
			"the number of the move, with wait after the move has ended",
	},
	{
		OID: 8041, Signature: "move_bucket(database text, bucket int4, fragment text, wait bool DEFAULT false, " +
			"why text DEFAULT ''::text) RETURNS int8",
		Call:    moveBucket,
		Comment: "moves one bucket to a fragment, as move_buckets does",
	},
	{
		OID: 8042, Signature: "move_anchor(anchor text, fragment text, wait bool DEFAULT false, " +
			"why text DEFAULT ''::text) RETURNS int8",
		Call:    moveAnchor,
		Comment: "moves the bucket of an anchor, with all documents that have it, to a fragment of this database",
	},
	{
		OID: 8050, Signature: "pause_move(move int8, why text DEFAULT ''::text) RETURNS void",
		Call:    controlMove("pause_move", (*catalog.Change).PauseMove),
		Comment: "pauses a move; buckets that have arrived stay in the target",
	},
	{
		OID: 8051, Signature: "resume_move(move int8, why text DEFAULT ''::text) RETURNS void",
		Call:    controlMove("resume_move", (*catalog.Change).ResumeMove),
		Comment: "resumes a move that was paused or has failed",
	},
	{
		OID: 8052, Signature: "cancel_move(move int8, why text DEFAULT ''::text) RETURNS void",
		Call:    controlMove("cancel_move", (*catalog.Change).CancelMove),
		Comment: "cancels a move, or the removal of a fragment; buckets that have arrived stay in the target",
	},
}

func moveBuckets(e *Environment, a []types.Datum) (types.Datum, error) {
	v, err := bucketsOf(a[1], a[2])
	if err != nil {
		return types.Null, err
	}
	return move(e, "move_buckets", a[0].S, v, a[3].S, moveOptionsOf(a[4:]))
}

func moveBucket(e *Environment, a []types.Datum) (types.Datum, error) {
	b, err := bucketOf(a[1])
	if err != nil {
		return types.Null, err
	}
	return move(e, "move_bucket", a[0].S, shardmap.OneBucket(b), a[2].S, moveOptionsOf(a[3:]))
}

func moveAnchor(e *Environment, a []types.Datum) (types.Datum, error) {
	v, err := bucketOfID(e, a[0].S)
	if err != nil {
		return types.Null, err
	}
	return move(e, "move_anchor", e.Names.Database.Name, v, a[1].S, moveOptionsOf(a[2:]))
}

// move starts a move and returns its number.
func move(
	e *Environment, function, database string, v shardmap.Interval, fragment string, o moveOptions,
) (types.Datum, error) {
	if err := e.reshape(function); err != nil {
		return types.Null, err
	}
	id, err := e.Catalog.NewJobID(e.Context)
	if err != nil {
		return types.Null, err
	}
	err = e.change(function, database, func(d *catalog.Database, c *catalog.Change) error {
		f, err := d.FragmentNamed(fragment)
		if err != nil {
			return err
		}
		return c.AddMove(id, d.OID, &catalog.Move{Interval: v, Target: f.ID}, e.author(o.why))
	})
	if err == nil && o.wait {
		err = e.waitMove(id)
	}
	return types.NewInt(int64(id)), err
}

// bucketOfID returns the bucket of an id of a collection of the session's database.
func bucketOfID(e *Environment, id string) (shardmap.Interval, error) {
	if id == "" {
		return shardmap.Interval{}, errEmptyAnchor()
	}
	b, err := e.Names.Database.Rules().BucketOf(id)
	return shardmap.OneBucket(b), err
}

func errEmptyAnchor() error {
	return pgerr.New(pgerr.InvalidParameterValue, "an anchor must not be empty").
		WithHint("Name an id, as in 'customers/1-A'.")
}

func controlMove(function string, do func(*catalog.Change, uint64, catalog.Author) error) Call {
	return void(func(e *Environment, a []types.Datum) error {
		id, why := a[0].N, a[1].S
		if err := e.reshape(function); err != nil {
			return err
		}
		if id <= 0 {
			return pgerr.New(pgerr.UndefinedObject, "move %d does not exist", id).WithHint("sherd.moves lists them.")
		}
		return e.update(func(_ *catalog.View, c *catalog.Change) error { return do(c, uint64(id), e.author(why)) })
	})
}
