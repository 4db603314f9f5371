package copy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/stmt"
)

// file takes the client's place in a COPY with a file of the node.
type file struct {
	stmt.ResultWriter
	f   *os.File
	out *bufio.Writer // nil: rows are read
	buf []byte
}

const fileBuffer = 64 << 10

// Through calls run with the writer of the rows: w, or for a COPY with a file one that reads or writes
// the file on this node. me is the role, which needs the right to that.
func (s *Statement) Through(
	w stmt.ResultWriter, me *privilege.Subject, run func(stmt.ResultWriter) (int64, error),
) (rows int64, err error) {
	if s.node.Filename == "" {
		return run(w)
	}
	if s.node.IsFrom && !me.ReadsFiles() || !s.node.IsFrom && !me.WritesFiles() {
		return 0, refusedFile(s.node.IsFrom)
	}
	f, err := s.open()
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := f.close(); err == nil {
			err = cerr
		}
	}()
	f.ResultWriter = w
	return run(f)
}

// refusedFile returns the error of a role that may not use files of the server.
func refusedFile(from bool) error {
	role, to := "pg_write_server_files", "to"
	if from {
		role, to = "pg_read_server_files", "from"
	}
	return pgerr.New(pgerr.InsufficientPrivilege,
		"must be superuser or have privileges of the %s role to COPY %s a file", role, to).
		WithHint(`Anyone can COPY to stdout or from stdin. psql's \copy command also works for anyone.`)
}

func (s *Statement) open() (*file, error) {
	name := s.node.Filename
	if s.node.IsFrom {
		f, err := os.Open(name)
		if err != nil {
			return nil, fileError(err, name, "reading",
				`COPY FROM instructs the server process to read a file. You may want psql's \copy.`)
		}
		if info, err := f.Stat(); err == nil && info.IsDir() {
			f.Close()
			return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is a directory`, name)
		}
		return &file{f: f, buf: make([]byte, fileBuffer)}, nil
	}
	if !filepath.IsAbs(name) {
		return nil, pgerr.New(pgerr.InvalidName, "relative path not allowed for COPY to file")
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fileError(err, name, "writing",
			`COPY TO instructs the server process to write a file. You may want psql's \copy.`)
	}
	return &file{f: f, out: bufio.NewWriterSize(f, fileBuffer)}, nil
}

// fileError returns the error of a file that cannot be opened.
func fileError(err error, name, purpose, hint string) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	code, text := pgerr.IOError, err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, text = pgerr.UndefinedFile, "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		code, text = pgerr.InsufficientPrivilege, "Permission denied"
	case errors.Is(err, syscall.EISDIR):
		code, text = pgerr.WrongObjectType, "Is a directory"
	case errors.Is(err, syscall.ENOSPC):
		code, text = pgerr.DiskFull, "No space left on device"
	}
	return pgerr.New(code, `could not open file "%s" for %s: %s`, name, purpose, text).WithHint("%s", hint)
}

// CopyIn returns the reader of the file.
func (f *file) CopyIn(stmt.CopyFormat) (stmt.CopyReader, error) { return f, nil }

// Next returns the next bytes of the file.
func (f *file) Next(context.Context) ([]byte, error) {
	n, err := f.f.Read(f.buf)
	switch {
	case n > 0:
		return f.buf[:n], nil
	case err == nil || errors.Is(err, io.EOF):
		return nil, io.EOF
	}
	return nil, pgerr.New(pgerr.IOError, "could not read from COPY file: %s", err)
}

// CopyOut begins the file.
func (f *file) CopyOut(stmt.CopyFormat) error { return nil }

// CopyData adds to the file.
func (f *file) CopyData(data []byte) error { return writeError(second(f.out.Write(data))) }

func second(_ int, err error) error { return err }

// CopyOutDone ends the file.
func (f *file) CopyOutDone() error { return writeError(f.out.Flush()) }

func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return pgerr.New(pgerr.DiskFull, "could not write to COPY file: No space left on device")
	}
	return pgerr.New(pgerr.IOError, "could not write to COPY file: %s", err)
}

func (f *file) close() error {
	err := f.f.Close()
	if f.out == nil {
		return nil
	}
	return writeError(err)
}
