package trust

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
)

// Token admits one node. Its text is short enough to paste, and a wrong character in it is found
// before any request is sent.
//
//	sherd-join-… = base32 of: format(1) cluster id(16) fingerprint of the authority(16) secret(16) crc(4)
type Token struct {
	cluster   [16]byte
	authority Fingerprint
	secret    [16]byte
}

const (
	tokenPrefix = "sherd-join-"
	tokenFormat = 1
	tokenBytes  = 1 + 16 + 16 + 16 + 4
)

var tokenText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewToken makes a token for a cluster whose id is a UUID.
func NewToken(clusterID string, authority Fingerprint) (Token, error) {
	t := Token{authority: authority}
	id, err := hex.DecodeString(strings.ReplaceAll(clusterID, "-", ""))
	if err != nil || len(id) != len(t.cluster) {
		return Token{}, fmt.Errorf("cluster id %q is not a UUID", clusterID)
	}
	copy(t.cluster[:], id)
	rand.Read(t.secret[:]) // never fails
	return t, nil
}

func (t Token) String() string {
	b := make([]byte, 0, tokenBytes)
	b = append(b, tokenFormat)
	b = append(b, t.cluster[:]...)
	b = append(b, t.authority[:]...)
	b = append(b, t.secret[:]...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return tokenPrefix + tokenText.EncodeToString(b)
}

// ParseToken reads a token as a user pasted it.
func ParseToken(text string) (Token, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	body, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return Token{}, fmt.Errorf("this is not a join token: it does not begin with %s", tokenPrefix)
	}
	b, err := tokenText.DecodeString(body)
	if err != nil {
		return Token{}, errors.New("the join token is damaged: it holds a character that does not belong there")
	}
	if len(b) > 0 && b[0] > tokenFormat {
		return Token{}, errors.New("the join token was made by a newer release of Sherd: start that one here too")
	}
	if len(b) != tokenBytes {
		return Token{}, fmt.Errorf(
			"the join token is incomplete: it has %d characters and not %d", len(text),
			len(tokenPrefix)+tokenText.EncodedLen(tokenBytes),
		)
	}
	if b[0] != tokenFormat || crc32.ChecksumIEEE(b[:tokenBytes-4]) != binary.BigEndian.Uint32(b[tokenBytes-4:]) {
		return Token{}, errors.New("the join token is damaged: a character was changed")
	}
	var t Token
	b = b[1:]
	b = b[copy(t.cluster[:], b):]
	b = b[copy(t.authority[:], b):]
	copy(t.secret[:], b)
	return t, nil
}

// ClusterID returns the cluster that the token is for.
func (t Token) ClusterID() string {
	c := t.cluster
	return fmt.Sprintf("%x-%x-%x-%x-%x", c[:4], c[4:6], c[6:8], c[8:10], c[10:])
}

// Authority returns the authority that certifies the nodes of the cluster.
func (t Token) Authority() Fingerprint { return t.authority }

// Secret returns the secret that proves the token. It is sent only to a node that was verified by
// the token (VerifyPinned).
func (t Token) Secret() []byte { return bytes.Clone(t.secret[:]) }

// HashSecret returns the hash of a secret that the cluster stores. The secret is random, so a plain
// hash hides it.
func HashSecret(secret []byte) []byte {
	sum := sha256.Sum256(append([]byte("sherd join token\x00"), secret...))
	return sum[:]
}

// Grant is what the cluster stores of a token (TR3).
type Grant struct {
	Hash    []byte // HashSecret
	Expires time.Time
	// The node that the token is for: a node of the cluster that joins again, or the node that
	// UsedBy became; 0: a new node.
	Node   uint32
	UsedBy []byte // KeyHash of the key that has redeemed it; nil none yet
}

// Reasons why a token is not accepted.
var (
	ErrTokenUnknown = errors.New("join token is unknown")
	ErrTokenExpired = errors.New("join token has expired")
	ErrTokenUsed    = errors.New("join token was used")
)

const makeToken = "make a new one with \"sherd node token\" on a node of the cluster"

// UnknownToken returns the refusal of a secret that belongs to no grant.
func UnknownToken() error {
	return refuse(
		ErrTokenUnknown,
		"the cluster does not know this join token: it was used or has expired some time ago, or was withdrawn; %s",
		makeToken,
	)
}

// Redeem returns nil if the holder of a key may join by the grant. The key that has used the grant
// may use it again, even after it has expired, because the first answer may have been lost.
func (g *Grant) Redeem(secret, keyHash []byte, now time.Time) error {
	if subtle.ConstantTimeCompare(g.Hash, HashSecret(secret)) != 1 {
		return UnknownToken()
	}
	if g.UsedBy != nil {
		if bytes.Equal(g.UsedBy, keyHash) {
			return nil
		}
		return refuse(
			ErrTokenUsed, "this join token was used already, for node %d; a token lets in one node: %s", g.Node,
			makeToken,
		)
	}
	if !now.Before(g.Expires) {
		return refuse(ErrTokenExpired, "this join token expired at %s, and it is %s by the cluster's clock; %s",
			g.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), makeToken)
	}
	return nil
}
