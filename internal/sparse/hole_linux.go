package sparse

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// nextData is where data may be, at or after a place: the file's end if there is none, the place
// itself if the file system does not know.
func nextData(f *os.File, at int64) int64 {
	next, err := f.Seek(at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		next, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return at
	}
	return max(at, next)
}
