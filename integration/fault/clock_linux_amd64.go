package fault

import (
	"bytes"
	"debug/elf"
	little "encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Go program reads the clock by the kernel's code page in its memory, the vDSO, so neither a
// preloaded library nor a namespace can change what it reads. Therefore this code changes that page
// in the memory of one running process: its clock_gettime jumps to code in the unused end of the
// page, which calls the kernel and adds an offset to CLOCK_REALTIME. The monotonic clocks of the
// process are not affected, as when an administrator sets the clock.

const clockCode = 32 // unused bytes at the end of the page

// SetClock sets how far a process's clock is ahead of this machine's. It returns
// errors.ErrUnsupported, wrapped, if that is not possible.
func SetClock(pid int, ahead time.Duration) error {
	seconds := int64(ahead / time.Second)
	if seconds != int64(int32(seconds)) {
		return fmt.Errorf("a clock cannot be set ahead by %v", ahead)
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	defer mem.Close()
	start, end, err := vdsoOf(pid)
	if err != nil {
		return err
	}
	image := make([]byte, end-start)
	if _, err := mem.ReadAt(image, start); err != nil {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	entry, err := clockEntry(image)
	if err != nil {
		return err
	}
	at := int64(len(image)) - clockCode
	code := clockProgram(int32(seconds))
	if have := image[at:]; !bytes.Equal(have, make([]byte, clockCode)) &&
		!bytes.Equal(have[:len(code)-5], code[:len(code)-5]) {
		return fmt.Errorf("%w: the end of the vDSO is in use", errors.ErrUnsupported)
	}
	jump := little.LittleEndian.AppendUint32([]byte{0xe9}, uint32(at-entry-5))
	return stopped(pid, func() error {
		// No thread may be executing the instructions that are overwritten.
		for inside := true; inside; {
			if inside, err = anyThreadIn(pid, uint64(start+entry+1), uint64(start+entry+int64(len(jump)))); err != nil {
				return err
			}
			if inside {
				if err := errors.Join(syscall.Kill(pid, syscall.SIGCONT),
					syscall.Kill(pid, syscall.SIGSTOP)); err != nil {
					return err
				}
			}
		}
		if _, err := mem.WriteAt(code, start+at); err != nil {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		_, err := mem.WriteAt(jump, start+entry)
		return err
	})
}

// clockProgram returns clock_gettime with an offset, in machine code. It ends with the offset and a
// return.
func clockProgram(seconds int32) []byte {
	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: is it CLOCK_REALTIME
		0x75, 0x07, // jne to the return
		0x48, 0x81, 0x06, // add qword [rsi], seconds
	}
	return append(little.LittleEndian.AppendUint32(code, uint32(seconds)), 0xc3)
}

// vdsoOf returns the address range of the kernel's code page in a process's memory.
func vdsoOf(pid int) (start, end int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err := fmt.Sscanf(line, "%x-%x", &start, &end)
			return start, end, err
		}
	}
	return 0, 0, fmt.Errorf("%w: process %d has no vDSO", errors.ErrUnsupported, pid)
}

// clockEntry finds clock_gettime in the page.
func clockEntry(image []byte) (int64, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return int64(s.Value), nil
		}
	}
	return 0, fmt.Errorf("%w: the vDSO has no clock_gettime", errors.ErrUnsupported)
}

// stopped calls do while all threads of a process are stopped.
func stopped(pid int, do func() error) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	return errors.Join(do(), syscall.Kill(pid, syscall.SIGCONT))
}

// anyThreadIn reports whether a thread of a stopped process would continue at an address in a
// range, or has not stopped yet.
func anyThreadIn(pid int, from, to uint64) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	if err != nil {
		return false, err
	}
	for _, t := range threads {
		text, err := os.ReadFile(t)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		words := strings.Fields(string(text))
		if len(words) < 2 { // it runs
			return true, nil
		}
		pc, err := strconv.ParseUint(words[len(words)-1], 0, 64)
		if err != nil || pc >= from && pc < to {
			return true, err
		}
	}
	return false, nil
}
