package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figure is one measurement of one server.
type figure struct {
	rate      float64 // per second: transactions, or thousands of rows
	latency   float64 // ms for one transaction
	processor float64 // ms of all the server's processes for one transaction
}

// head prints the heads of the columns.
func (b *bench) head() {
	if b.cluster {
		fmt.Printf("%-28s %8s  each: ms, ms of processor time (times that of the first)\n%-37s", "workload", "clients",
			"")
		for _, s := range b.servers {
			fmt.Printf(" %28s", s.name)
		}
		fmt.Println()
		return
	}
	fmt.Printf("%-28s %8s %14s %14s %8s\n", "workload", "clients", "PostgreSQL", "Sherd", "ratio")
}

// print prints the medians of a workload's rounds.
func (b *bench) print(what string, clients int, figures [][]figure, unit string) {
	if b.cluster {
		fmt.Printf("%-28s %8d", what, clients)
		for i := range figures {
			times := ratios(figures[i], figures[0], func(f figure) float64 { return f.processor })
			fmt.Printf(" %10.2f %8.3f (%5.2f)", medianOf(figures[i], func(f figure) float64 { return f.latency }),
				medianOf(figures[i], func(f figure) float64 { return f.processor }), median(times))
		}
		fmt.Println()
		return
	}
	rate := func(f figure) float64 { return f.rate }
	fmt.Printf("%-28s %8d %10.1f %s %10.1f %s %7.2f\n", what, clients, medianOf(figures[0], rate), unit,
		medianOf(figures[1], rate), unit,
		median(ratios(figures[1], figures[0], rate)))
}

// ratios compares measurements of the same round.
func ratios(a, b []figure, of func(figure) float64) []float64 {
	var out []float64
	for i := range a {
		out = append(out, of(a[i])/of(b[i]))
	}
	return out
}

func medianOf(figures []figure, of func(figure) float64) float64 {
	var x []float64
	for _, f := range figures {
		x = append(x, of(f))
	}
	return median(x)
}

func median(x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return s[len(s)/2]
}

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// processorTime returns the processor time of a server's processes, including their children and
// ended processes.
func (s *server) processorTime() time.Duration {
	children := map[int][]int{}
	used := map[int]time.Duration{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may contain any character. After it come state, parent, and
		// from the twelfth on the user and system time, also of ended children.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], pid)
		for _, f := range fields[11:15] {
			n, _ := strconv.Atoi(f)
			used[pid] += time.Duration(n) * tick
		}
	}
	var total time.Duration
	var add func(pid int)
	add = func(pid int) {
		total += used[pid]
		for _, c := range children[pid] {
			add(c)
		}
	}
	for _, pid := range s.pids {
		add(pid)
	}
	return total
}
