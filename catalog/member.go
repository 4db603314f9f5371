package catalog

import (
	"encoding/binary"
	"errors"
	"iter"
	"slices"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
)

// AuthorityPhase is the state of an authority. Durable: never renumber.
type AuthorityPhase byte

// Phases of authorities, in their order. At most one is signing.
const (
	AuthorityAnnounced AuthorityPhase = 1
	AuthoritySigning   AuthorityPhase = 2
	AuthorityRetiring  AuthorityPhase = 3
)

// Authority certifies the nodes of the cluster (package trust). Every node holds it, so every node
// can admit another one.
type Authority struct {
	ID     uint64 // the first 56 bits of its fingerprint
	Phase  AuthorityPhase
	Secret []byte // its key and certificates, PEM
}

// JoinToken is what the cluster keeps of a token that admits a node: its hash, not the token.
type JoinToken struct {
	Hash          []byte
	Authority     uint64 // that the token names
	CreatedMicros int64  // since 1970 UTC, by the proposer's clock, as the next
	ExpiresMicros int64
	Node          uint32 // the node that the token is for, or that used it; 0 is a new one
	UsedBy        []byte // hash of the key that was admitted with it; nil: none yet
}

// minHash is the length of the shortest hash: enough bytes for the token's number, and enough more
// that a collision cannot be found.
const minHash = 16

func tokenID(hash []byte) uint64 { return binary.BigEndian.Uint64(hash) >> 8 }

func (a *Authority) check() error {
	if a.ID == 0 || a.ID > maxObjectID || a.Phase < AuthorityAnnounced || a.Phase > AuthorityRetiring ||
		len(a.Secret) == 0 {
		return errors.New("an authority needs a number, a phase and its key")
	}
	return nil
}

func (t *JoinToken) check() error {
	if len(t.Hash) < minHash || t.ExpiresMicros == 0 {
		return errors.New("a join token needs a hash and an end")
	}
	return nil
}

// Clone returns a copy of an authority that may be changed (K1).
func (a *Authority) Clone() *Authority {
	c := *a
	c.Secret = slices.Clone(a.Secret)
	return &c
}

// Clone returns a copy of a token that may be changed (K1).
func (t *JoinToken) Clone() *JoinToken {
	c := *t
	c.Hash, c.UsedBy = slices.Clone(t.Hash), slices.Clone(t.UsedBy)
	return &c
}

// Authorities returns all authorities by number.
func (v *View) Authorities() iter.Seq[*Authority] { return all[*Authority](v, authorityObject) }

// SigningAuthority returns the authority that certifies nodes at present, nil if there is none yet.
func (v *View) SigningAuthority() *Authority {
	for a := range v.Authorities() {
		if a.Phase == AuthoritySigning {
			return a
		}
	}
	return nil
}

// JoinToken returns the token with a hash, nil if there is none.
func (v *View) JoinToken(hash []byte) *JoinToken {
	if len(hash) < minHash {
		return nil
	}
	t := get[*JoinToken](v, newKey(tokenObject, tokenID(hash)))
	if t == nil || !slices.Equal(t.Hash, hash) {
		return nil
	}
	return t
}

// JoinTokens returns all tokens.
func (v *View) JoinTokens() iter.Seq[*JoinToken] { return all[*JoinToken](v, tokenObject) }

// PutAuthority records an authority or its phase.
func (c *Change) PutAuthority(a *Authority) error { return c.put(a.Clone()) }

// DropAuthority forgets an authority.
func (c *Change) DropAuthority(id uint64) { c.drop(authorityObject, id) }

// PutJoinToken records a token or its use.
func (c *Change) PutJoinToken(t *JoinToken) error { return c.put(t.Clone()) }

// DropJoinToken forgets a token.
func (c *Change) DropJoinToken(hash []byte) {
	if len(hash) >= minHash {
		c.drop(tokenObject, tokenID(hash))
	}
}

func decodeAuthority(p *pb.Authority) (*Authority, error) {
	a := &Authority{ID: p.GetId(), Phase: AuthorityPhase(p.GetPhase()), Secret: p.GetSecret()}
	if uint32(a.Phase) != p.GetPhase() {
		return nil, errors.New("authority of an unknown phase")
	}
	return a, a.check()
}

func decodeJoinToken(p *pb.JoinToken) (*JoinToken, error) {
	t := &JoinToken{
		Hash: p.GetHash(), Authority: p.GetAuthority(), CreatedMicros: p.GetCreatedMicros(),
		ExpiresMicros: p.GetExpiresMicros(), Node: p.GetNode(),
		UsedBy: p.GetUsedBy(),
	}
	return t, t.check()
}
