package raftlog

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

const (
	frameMagic  = 0x4c465253 // "SRFL"
	frameHead   = 32
	frameAlign  = 8
	formatByte  = 1
	segmentHead = 56
)

var segmentMagic = []byte("SHERDRLG")

func align(n int64) int64 { return (n + frameAlign - 1) &^ (frameAlign - 1) }

// putFrame writes the header of a frame of the given records into h.
func putFrame(h *[frameHead]byte, salt, round uint64, length, records int, crcs ...[]byte) {
	*h = [frameHead]byte{}
	binary.LittleEndian.PutUint32(h[0:], frameMagic)
	h[4] = formatByte
	binary.LittleEndian.PutUint64(h[8:], round)
	binary.LittleEndian.PutUint32(h[16:], uint32(length))
	binary.LittleEndian.PutUint32(h[20:], uint32(records))
	sum := frameSum(salt, h[:24])
	for _, c := range crcs {
		sum = crc32.Update(sum, castagnoli, c)
	}
	binary.LittleEndian.PutUint32(h[24:], sum)
}

func frameSum(salt uint64, head []byte) uint32 {
	var s [8]byte
	binary.LittleEndian.PutUint64(s[:], salt)
	return crc32.Update(crc32.Checksum(s[:], castagnoli), castagnoli, head)
}

// frame is one frame as read from a segment.
type frame struct {
	round uint64
	edits []edit
	size  int // with its header, without padding
}

// readFrame reads the frame at the beginning of b; false if there is no whole one.
func readFrame(b []byte, salt uint64) (f frame, ok bool) {
	if len(b) < frameHead || binary.LittleEndian.Uint32(b) != frameMagic || b[4] != formatByte {
		return f, false
	}
	f.round = binary.LittleEndian.Uint64(b[8:])
	length, records := binary.LittleEndian.Uint32(b[16:]), binary.LittleEndian.Uint32(b[20:])
	if uint64(length) > uint64(len(b)-frameHead) || uint64(records) > uint64(length)/recordHead ||
		!bytes.Equal(b[5:8], []byte{0, 0, 0}) {
		return f, false
	}
	sum := frameSum(salt, b[:24])
	rest := b[frameHead : frameHead+int(length)]
	for range records {
		body, _, size, err := splitRecord(rest)
		if err != nil {
			return f, false
		}
		e, err := decodeEdit(body)
		if err != nil {
			return f, false
		}
		sum = crc32.Update(sum, castagnoli, rest[4:8])
		e.off, e.size = length-uint32(len(rest)), uint32(size)
		f.edits = append(f.edits, e)
		rest = rest[size:]
	}
	if len(rest) > 0 || sum != binary.LittleEndian.Uint32(b[24:]) {
		return f, false
	}
	f.size = frameHead + int(length)
	return f, true
}

// laterFrame reports whether b holds, at a multiple of frameAlign, a whole frame whose round is at
// least from.
func laterFrame(b []byte, salt, from uint64) bool {
	for i := 0; i+frameHead <= len(b); i += frameAlign {
		if binary.LittleEndian.Uint32(b[i:]) != frameMagic || binary.LittleEndian.Uint64(b[i+8:]) < from {
			continue
		}
		if _, ok := readFrame(b[i:], salt); ok {
			return true
		}
	}
	return false
}

// segmentHeader is the header of a segment file.
type segmentHeader struct{ number, firstRound, salt uint64 }

func (h segmentHeader) encode() []byte {
	b := make([]byte, segmentHead)
	copy(b, segmentMagic)
	b[8] = formatByte
	binary.LittleEndian.PutUint64(b[16:], h.number)
	binary.LittleEndian.PutUint64(b[24:], h.firstRound)
	binary.LittleEndian.PutUint64(b[32:], h.salt)
	binary.LittleEndian.PutUint32(b[52:], crc32.Checksum(b[:52], castagnoli))
	return b
}

func decodeSegmentHeader(b []byte) (h segmentHeader, ok bool) {
	if len(b) < segmentHead || !bytes.HasPrefix(b, segmentMagic) || b[8] != formatByte ||
		crc32.Checksum(b[:52], castagnoli) != binary.LittleEndian.Uint32(b[52:]) {
		return h, false
	}
	return segmentHeader{
		binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[32:]),
	}, true
}
