package fault

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// jobsEnd is within which a job about some hundred documents comes to its end, whatever happens to nodes meanwhile.
const jobsEnd = 5 * time.Minute

// placements changes the policy of the documents, gives them the ids that it wants, and has the policy validated; now and then it mends the references
// to former ids, and ends these.
func (o *operator) placements() {
	field, mutable := string("ABC"[o.rnd.IntN(3)]), o.rnd.IntN(3) > 0
	if !o.insist("ALTER TABLE SET", fmt.Sprintf("ALTER TABLE placed SET (shard_by = '%s', shard_mutable = %t)", field, mutable)) {
		return
	}
	if !o.job("replace_placement", "SELECT sherd.replace_placement('placed')") {
		return
	}
	if mutable && !o.insist("ALTER TABLE SET", "ALTER TABLE placed SET (shard_mutable = false)") {
		return
	}
	if !o.insist("VALIDATE", "ALTER TABLE placed VALIDATE CONSTRAINT sharding") {
		return
	}
	if o.rnd.IntN(2) == 0 {
		if !o.job("rewrite_references", "SELECT sherd.rewrite_references('placed', 'refers', 'placed_id')") {
			return
		}
		if left, err := o.column("SELECT by_former_id::text FROM sherd.rewrite_references('placed')"); err == nil && (len(left) != 1 || left[0] != "0") {
			o.r.errorf("references by former ids are left: %v", left)
		}
		if o.rnd.IntN(2) == 0 {
			err := o.r.tables.DropForwarding(func() error {
				for !o.insist("drop_forwarding", "SELECT sherd.drop_forwarding('placed')", "55000") {
					if o.r.stopped.Err() != nil {
						return o.r.stopped.Err()
					}
				}
				return nil
			}, o.read)
			if err != nil && o.r.stopped.Err() == nil {
				o.r.errorf("drop_forwarding: %s", describe(err))
			}
		}
	}
	o.rest(time.Second)
}

// read calls fn with a connection until it succeeds.
func (o *operator) read(fn func(context.Context, *pgx.Conn) error) error {
	for end := time.Now().Add(recovery); ; o.rest(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(o.r.stopped), recovery)
		err := o.connect(ctx)
		if err == nil {
			err = fn(ctx, o.conn)
		}
		cancel()
		if o.note("look", "the present ids", err, nil) == nil || time.Now().After(end) {
			return err
		}
	}
}

// insist runs a statement until it has done what it says; that may be more than once.
func (o *operator) insist(what, text string, expected ...string) bool {
	for end := time.Now().Add(recovery); o.r.stopped.Err() == nil; o.rest(200 * time.Millisecond) {
		err := o.do(what, text, expected...)
		if err == nil {
			return true
		}
		if time.Now().After(end) {
			o.r.errorf("%s: not within %v: %s", text, recovery, describe(err))
			return false
		}
	}
	return false
}

// begunJob is a job that is about the documents already, as the refusal of another says.
var begunJob = regexp.MustCompile(`job (\d+), (\w+), is still about`)

// begin begins a job and gives its number; where the answer was lost the next attempt tells which it is.
func (o *operator) begin(kind, text string) (id int64) {
	for o.r.stopped.Err() == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(o.r.stopped), recovery)
		err := o.connect(ctx)
		if err == nil {
			err = o.conn.QueryRow(ctx, text).Scan(&id)
		}
		cancel()
		if o.note(kind, text, err, nil) == nil {
			return id
		}
		if said := begunJob.FindStringSubmatch(err.Error()); said != nil && said[2] == kind {
			id, _ = strconv.ParseInt(said[1], 10, 64) // digits
			return id
		}
		o.rest(200 * time.Millisecond)
	}
	return 0
}

// job has a job done, which it pauses, resumes and cancels meanwhile.
func (o *operator) job(kind, text string) bool {
	id := o.begin(kind, text)
	if id == 0 {
		return false
	}
	running, calm := fmt.Sprintf("SELECT state || ' ' || coalesce(error, '') || ' ' || coalesce(progress, '') FROM sherd.jobs WHERE id = %d", id), false
	for end := time.Now().Add(jobsEnd); ; time.Sleep(time.Duration(o.rnd.IntN(300)) * time.Millisecond) {
		calm = calm || o.r.stopped.Err() != nil || o.rnd.IntN(60) == 0
		all, err := o.column(running)
		if err != nil || len(all) == 0 { // a node may not know of it yet
			continue
		}
		state, rest, _ := strings.Cut(all[0], " ")
		switch verb := []string{"pause", "resume", "cancel"}[o.rnd.IntN(3)]; {
		case state == "done":
			if !strings.HasPrefix(rest, " ") || strings.Contains(rest, "stay") {
				o.r.errorf("job %d, %s, is done: %s", id, kind, rest)
			}
			return true
		case state == "failed":
			o.r.errorf("job %d, %s, has failed: %s", id, kind, rest)
			return false
		case state != "running":
			_ = o.do("resume_job", fmt.Sprintf("SELECT sherd.resume_job(%d)", id), "55000")
		case !calm && o.rnd.IntN(3) == 0:
			_ = o.do(verb+"_job", fmt.Sprintf("SELECT sherd.%s_job(%d)", verb, id), "55000", "42704")
		case time.Now().After(end):
			o.r.errorf("job %d, %s, does not end: %s %s", id, kind, state, rest)
			return false
		}
	}
}
