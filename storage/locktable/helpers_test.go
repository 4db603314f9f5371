package locktable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

var errTermOver = errors.New("the term is over")

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func rowKey(n int) []byte { return fmt.Appendf(nil, "row-%06d", n) }

func newOwner(lt *Table, id txn.ID) *Owner {
	o := &Owner{}
	o.Init(lt, id)
	return o
}

func tempFile(t testing.TB) func() (*os.File, error) {
	return func() (*os.File, error) { return os.CreateTemp(t.TempDir(), "") }
}
