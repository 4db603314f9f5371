package tablelock

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// TestTimeIsOver: a request whose time is over while it waits for a lock has no answer of this node, which would be taken for an error of the statement: why there was no
// more time, as lock_timeout, the asker knows.
func TestTimeIsOver(t *testing.T) {
	m := locks.NewManager(txn.NewDetector(), slog.New(slog.DiscardHandler))
	tag := locks.Table(5, 20000)
	one, two := m.NewSession(1).Begin([16]byte{1}), m.NewSession(2).Begin([16]byte{2})
	if err := one.Acquire(t.Context(), tag, locks.Request{Mode: locks.AccessExclusive}); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := two.Acquire(short, tag, locks.Request{Mode: locks.AccessExclusive})
	if err == nil {
		t.Fatal("two hold it")
	}
	if a, err := answer(short, &pb.TableLockAnswer{}, err); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v, %v", a, err)
	}
	if a, err := answer(short, &pb.TableLockAnswer{}, locks.ErrNotAvailable); err != nil || !a.NotAvailable {
		t.Errorf("%v, %v", a, err)
	}
	if a, err := answer(t.Context(), &pb.TableLockAnswer{}, pgerr.New(pgerr.DeadlockDetected, "x")); err != nil || a.Sqlstate != string(pgerr.DeadlockDetected) {
		t.Errorf("%v, %v", a, err)
	}
}
