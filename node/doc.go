// Package node is a Sherd process without its command line: the wiring diagram. Open builds
// everything from the ground up, Close closes it in reverse:
//
//	n, err := node.Open(ctx, node.Config{Data: "data", SQLAddr: "127.0.0.1:5433"})
//	go n.Serve()
//	fmt.Println(n.URL())
//	…
//	err = n.Close(ctx) // clients may finish their transactions until ctx ends
//
// A process may contain several nodes, because there are no globals. What belongs to the process
// (signals, its memory limit, where it logs) is the caller's task.
//
// The package never decides what a statement or a log entry means. It knows which part needs which
// others, and in which order they start.
package node
