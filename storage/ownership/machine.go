package ownership

import (
	"encoding/binary"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Machine is what the log says of ownership.
type Machine struct {
	List        List
	Generations uint32 // the last one that was assigned
}

// Moved reports whether anything ever was.
func (m *Machine) Moved() bool { return len(m.List) > 0 }

// Append appends the machine to a checkpoint.
func (m *Machine) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(m.List)))
	for i := range m.List {
		x := &m.List[i]
		b = binary.AppendUvarint(b, uint64(x.Lo))
		b = binary.AppendUvarint(b, uint64(x.Hi))
		b = append(b, byte(x.State), codec.Bool(x.Left))
		b = binary.AppendUvarint(b, x.Move)
		b = binary.AppendUvarint(b, uint64(x.Generation))
		b = codec.AppendTimestamp(codec.AppendTimestamp(codec.AppendTimestamp(b, x.F), x.Since), x.Edge)
	}
	return binary.AppendUvarint(b, uint64(m.Generations))
}

// ReadMachine reads what Append has appended.
func ReadMachine(r *codec.Reader) (m Machine) {
	n, at := r.Int(), uint32(0)
	for i := 0; i < n && r.Err == nil; i++ {
		var x Piece
		x.Lo, x.Hi = r.Bucket(), r.Bucket()
		x.State, x.Left = State(r.Byte()), r.Byte() != 0
		x.Move, x.Generation = r.Uvarint(), r.Uint32()
		x.F, x.Since, x.Edge = r.Timestamp(), r.Timestamp(), r.Timestamp()
		if x.Empty() || x.Lo < at || x.State > Gone {
			r.Err = codec.ErrMalformed
		}
		at = x.Hi
		m.List = append(m.List, x)
	}
	m.Generations = r.Uint32()
	return m
}

// Outcome says what a step has done.
type Outcome byte

// The outcomes of a step.
const (
	Void    Outcome = iota // it has no effect
	Repeat                 // it was done already
	Changed                // it has changed the machine
)

// Step is an entry of a move that is being applied. One of its methods is called, once.
type Step struct {
	machine *Machine
	move    uint64
	stamp   txn.Timestamp
	pieces  []Piece // of its ranges, before the entry is applied
}

// Step returns the step that an entry of a move makes, with its stamp. First is Map.First.
func (m *Machine) Step(first State, move uint64, stamp txn.Timestamp, ranges []BucketRange) *Step {
	now := Map{first, m.List}
	return &Step{m, move, stamp, now.Pieces(ranges...)}
}

func (s *Step) all(ok func(p *Piece) bool) bool {
	for i := range s.pieces {
		if !ok(&s.pieces[i]) {
			return false
		}
	}
	return true
}

// are reports whether all pieces are in a state by this move.
func (s *Step) are(state State) bool {
	return s.all(func(p *Piece) bool { return s.is(p, state) })
}

func (s *Step) is(p *Piece, state State) bool { return p.State == state && p.Move == s.move }

func (s *Step) older(p *Piece) bool { return p.Move < s.move || !rule.MoveNumber }

// set changes the pieces, which then have the number of the move.
func (s *Step) set(change func(p *Piece)) Outcome {
	for i := range s.pieces {
		change(&s.pieces[i])
		s.pieces[i].Move = s.move
	}
	s.machine.List = s.machine.List.With(s.pieces)
	return Changed
}

// Fence fences what is owned, at the stamp.
func (s *Step) Fence() Outcome {
	if s.are(Fenced) {
		return Repeat
	}
	if !s.all(func(p *Piece) bool { return p.State == Owned && s.older(p) }) {
		return Void
	}
	return s.set(func(p *Piece) { p.State, p.F = Fenced, s.stamp })
}

// Unfence lifts a fence. What is owned gets the number too, so that a fence of this move that is
// still on its way is void.
func (s *Step) Unfence() Outcome {
	if !s.all(func(p *Piece) bool { return s.is(p, Fenced) || p.State == Owned && p.Move <= s.move }) {
		return Void
	}
	return s.set(func(p *Piece) { p.State, p.F = Owned, 0 })
}

// Own makes what was received owned, and readable from since on.
func (s *Step) Own(since txn.Timestamp) Outcome {
	if s.are(Owned) {
		return Repeat
	}
	if !s.are(Receiving) {
		return Void
	}
	return s.set(func(p *Piece) { p.State, p.Since, p.F, p.Edge = Owned, since, 0, s.stamp })
}

// MoveAway makes what is fenced gone. Its rows are left until Clean.
func (s *Step) MoveAway() Outcome {
	if s.are(Gone) {
		return Repeat
	}
	if !s.are(Fenced) {
		return Void
	}
	return s.set(func(p *Piece) { p.State, p.Left, p.Edge = Gone, true, s.stamp })
}

// Clean records that the rows of what is gone are being deleted, and returns the pieces that had
// some.
func (s *Step) Clean() ([]Piece, Outcome) {
	if !s.are(Gone) {
		return nil, Void
	}
	left := s.left(false)
	return left, s.set(func(p *Piece) { p.Left = false })
}

// left returns the pieces that have rows to be deleted; undone counts what was being received.
func (s *Step) left(undone bool) (out []Piece) {
	for _, p := range s.pieces {
		if p.Left = p.Left || undone && p.State == Receiving; p.Left {
			out = append(out, p)
		}
	}
	return out
}

// receivable reports whether a piece may be received. A fragment that its database began with
// regards what was never moved as its own, whether it is or not; the proposer has made sure that
// there are no rows.
func (p *Piece) receivable() bool {
	switch p.State {
	case NotOwned, Gone, Receiving:
		return true
	case Owned:
		return p.Move == 0 && p.Generation == 0
	}
	return false
}

// BeginIngest begins a bucket generation; 0: the next one. It returns the pieces in which an
// earlier one, or an undone copy (Receiving), has left rows to be deleted.
func (s *Step) BeginIngest(generation uint32) ([]Piece, Outcome) {
	if s.are(Receiving) {
		return nil, Repeat
	}
	if !s.all(func(p *Piece) bool { return p.receivable() && s.older(p) }) {
		return nil, Void
	}
	if generation != 0 && !s.all(func(p *Piece) bool { return p.Generation < generation }) {
		return nil, Void // another one came between
	}
	left, m := s.left(true), s.machine
	if generation == 0 || !rule.MoveGeneration {
		if rule.MoveGeneration || m.Generations == 0 {
			m.Generations++
		}
		generation = m.Generations
	}
	m.Generations = max(m.Generations, generation)
	return left, s.set(func(p *Piece) {
		p.State, p.Generation, p.F, p.Since, p.Left, p.Edge = Receiving, generation, 0, 0, false, 0
	})
}

// Abandon undoes a BeginIngest, or bars one that is on its way. It returns the pieces that were
// being received, whose rows are to be deleted.
func (s *Step) Abandon() (received []Piece, out Outcome) {
	if !s.all(func(p *Piece) bool { return p.Move <= s.move && p.receivable() }) {
		return nil, Void
	}
	for _, p := range s.pieces {
		if p.State == Receiving {
			p.Left = true
			received = append(received, p)
		}
	}
	return received, s.set(func(p *Piece) {
		if p.State == Receiving || p.State == Owned {
			p.State, p.Left = Gone, false
		}
	})
}
