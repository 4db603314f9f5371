package raftgroup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftlog"
)

// Proposal is an entry on its way through the log. The caller waits for each once, by Wait or Done:
// Close waits for all of them, because Raft answers proposals only while it runs.
type Proposal struct {
	g   *Group
	f   raft.ApplyFuture
	err error // refused before the entry reached the log
}

// Propose puts data into the queue of the log and returns. Entries enter the log in the order of
// the calls to Propose, so a caller that stamps entries calls it under the lock that orders the
// stamps (T1). data belongs to the log from here on.
func (g *Group) Propose(data []byte) Proposal {
	if !g.enter() {
		return Proposal{g: g, err: g.errClosed()}
	}
	return Proposal{g: g, f: g.raft.Apply(data, 0)}
}

// ProposeIn is Propose for an entry that counts in one term only: its state machine refuses it if
// TermOf differs from the term of the log entry. If a leader is replaced and leads again, its
// earlier proposals do not count in its new term.
func (g *Group) ProposeIn(term uint64, data []byte) Proposal {
	if !g.enter() {
		return Proposal{g: g, err: g.errClosed()}
	}
	entry := raft.Log{Data: data, Extensions: binary.AppendUvarint([]byte{extensionTerm}, term)}
	return Proposal{g: g, f: g.raft.ApplyLog(entry, 0)}
}

// extensionTerm is the first byte of an entry's extensions that name a term.
const extensionTerm = 1

// TermOf returns the only term in which an entry counts, or 0 if it counts in any.
func TermOf(l *raft.Log) (uint64, error) {
	if len(l.Extensions) == 0 {
		return 0, nil
	}
	term, n := binary.Uvarint(l.Extensions[1:])
	if l.Extensions[0] != extensionTerm || n != len(l.Extensions)-1 {
		return 0, fmt.Errorf("log entry %d has extensions that this release cannot read: %x", l.Index, l.Extensions)
	}
	return term, nil
}

// Wait waits until the entry is applied here, and returns the state machine's response and the
// entry's index. If ctx ends first the entry may still take effect: 40003.
func (p Proposal) Wait(ctx context.Context) (response any, index uint64, err error) {
	if p.err != nil {
		return nil, 0, p.err
	}
	if err := p.g.wait(ctx, p.f); err != nil {
		return nil, 0, err
	}
	return p.f.Response(), p.f.Index(), nil
}

// Done waits without a bound and without a goroutine; Raft answers every proposal, at the latest
// when it shuts down.
func (p Proposal) Done() (response any, index uint64, err error) {
	if p.err != nil {
		return nil, 0, p.err
	}
	defer p.g.pending.Done()
	if err := p.f.Error(); err != nil {
		return nil, 0, p.g.proposalError(err)
	}
	return p.f.Response(), p.f.Index(), nil
}

// Apply proposes data and waits until it is applied here.
func (g *Group) Apply(ctx context.Context, data []byte) (response any, index uint64, err error) {
	if len(data) > MaxEntry {
		return nil, 0, pgerr.New(
			pgerr.ProgramLimitExceeded, "log entry of %d bytes exceeds the limit of %d", len(data), MaxEntry,
		)
	}
	return g.Propose(data).Wait(ctx)
}

// enter counts a request to Raft that must be answered before Close may stop Raft. It returns false
// once the group is closing.
func (g *Group) enter() bool {
	g.gate.RLock()
	defer g.gate.RUnlock()
	if g.closing {
		return false
	}
	g.pending.Add(1)
	return true
}

// wait waits for f, which enter has counted.
func (g *Group) wait(ctx context.Context, f raft.Future) error {
	if ctx.Done() == nil {
		defer g.pending.Done()
		if err := f.Error(); err != nil {
			return g.proposalError(err)
		}
		return nil
	}
	done := make(chan error, 1)
	go func() {
		defer g.pending.Done()
		done <- f.Error()
	}()
	select {
	case err := <-done:
		if err != nil {
			return g.proposalError(err)
		}
		return nil
	case <-ctx.Done():
		return pgerr.New(
			pgerr.StatementCompletionUnknown, "%s: canceled while the log was being written; the outcome is unknown",
			g.name,
		)
	}
}

// proposalError adds to Raft's errors the SQLSTATE from which a client sees whether the entry may
// take effect.
func (g *Group) proposalError(err error) error {
	switch {
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrRaftShutdown),
		errors.Is(err, raft.ErrAbortedByRestore):
		return fmt.Errorf("%w: %w", pgerr.New(pgerr.StatementCompletionUnknown,
			"%s lost its leader while the log was being written; the outcome is unknown", g.name), err)
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, raft.ErrEnqueueTimeout):
		return fmt.Errorf("%w: %w", pgerr.New(pgerr.CannotConnectNow, "%s has no leader at present", g.name).
			WithHint("Try again in a moment."), err)
	case errors.Is(err, raftlog.ErrUnknown):
		unknown := pgerr.New(pgerr.StatementCompletionUnknown,
			"%s could not write its log; the outcome is unknown", g.name)
		return fmt.Errorf("%w: %w", unknown, err)
	}
	return diskError(err)
}

// diskError marks a full disk as 53100 and returns other errors unchanged.
func diskError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", pgerr.New(pgerr.DiskFull, "could not write the log: no space left on device").
			WithHint("Free disk space; the server continues by itself."), err)
	}
	return err
}
