package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"google.golang.org/protobuf/proto"
)

const (
	handshakeFormat = 1 // V1
	maxHandshake    = 4 << 10
)

// Version is what a node speaks, and the release name that people know it by.
type Version struct {
	Release  string
	From, To uint32 // versions of the node protocol
}

// writeHandshake sends one message of the handshake.
func writeHandshake(w io.Writer, m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	if len(body)+1 > maxHandshake {
		return errors.New("handshake is too long")
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 5+len(body)), uint32(1+len(body)))
	b = append(append(b, handshakeFormat), body...)
	_, err = w.Write(b)
	return err
}

// errMalformed is the error for a handshake that no Sherd node has sent.
var errMalformed = errors.New("not a handshake of Sherd's")

// readHandshake reads one message of the handshake.
func readHandshake(r io.Reader, m proto.Message) error {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n < 1 || n > maxHandshake || head[4] != handshakeFormat {
		return errMalformed
	}
	body := make([]byte, n-1)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	if err := proto.Unmarshal(body, m); err != nil {
		return errMalformed
	}
	return nil
}

// agree returns the version that both speak from now on: the newest that both know and that the
// cluster was raised to. here is the accepting node, there the connecting one. If the cluster's
// version is not known yet (0), it is the oldest that both know: the cluster has admitted both.
func agree(here, there Version, cluster uint32) (uint32, error) {
	if cluster == 0 {
		cluster = max(here.From, there.From)
	}
	speaks := min(here.To, there.To, cluster)
	if there.From <= there.To && speaks >= max(here.From, there.From) {
		return speaks, nil
	}
	if there.From <= there.To && there.From > cluster {
		return 0, fmt.Errorf("the cluster is at version %d, and the node that connects, Sherd %s, "+
			"speaks versions %d to %d of the node protocol: "+
			"upgrade the nodes of the cluster first and call sherd.finalize_upgrade(), one release at a time",
			cluster, there.Release, there.From, there.To)
	}
	older := "this node"
	if there.To < here.From {
		older = "the one that connects"
	}
	return 0, fmt.Errorf("this node runs Sherd %s and speaks versions %d to %d of the node protocol, "+
		"the one that connects runs Sherd %s and speaks "+
		"versions %d to %d: upgrade %s first, one release at a time",
		here.Release, here.From, here.To, there.Release, there.From, there.To, older)
}

// Refused is the answer of a node that does not accept a connection.
type Refused struct {
	Addr   string
	Reason pb.Refusal_Reason
	Text   string
}

func (r *Refused) Error() string { return fmt.Sprintf("the node at %s refuses: %s", r.Addr, r.Text) }

func refusal(reason pb.Refusal_Reason, format string, args ...any) *pb.Refusal {
	text := fmt.Sprintf(format, args...)
	return &pb.Refusal{Reason: reason, Text: text[:min(len(text), maxHandshake/2)]}
}
