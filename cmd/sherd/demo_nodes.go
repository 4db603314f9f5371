package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sherddb/sherd/node"
)

// maxDemoNodes is the largest number of nodes in one process; more than five show nothing new.
const maxDemoNodes = 9

// nodePortsAbove is the distance between the ports for nodes and those for clients in a demo: 7433
// and 5433.
const nodePortsAbove = 2000

// demoConfigs returns the configuration of each node of a demo: consecutive ports, and directories
// next to each other. A demo with one node uses the directory itself.
func demoConfigs(cfg node.Config, nodes int) ([]node.Config, error) {
	host, port, err := net.SplitHostPort(cfg.SQLAddr)
	if err != nil {
		return nil, usageError{fmt.Errorf("--sql-addr: %w", err)}
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		return nil, usageError{fmt.Errorf("--sql-addr: %w", err)}
	}
	if nodes == 1 {
		cfg.NodeAddr = net.JoinHostPort(host, "0")
		return []node.Config{cfg}, nil
	}
	if last := first + nodePortsAbove + nodes - 1; last > 1<<16-1 {
		return nil, usageError{
			fmt.Errorf(
				"--sql-addr %s: the ports of all nodes follow from it, here up to %d, and they end at %d",
				cfg.SQLAddr, last, 1<<16-1,
			),
		}
	}
	out := make([]node.Config, nodes)
	for i := range out {
		sql, other := "0", "0"
		if first != 0 {
			sql, other = strconv.Itoa(first+i), strconv.Itoa(first+nodePortsAbove+i)
		}
		out[i] = cfg
		out[i].Data = filepath.Join(cfg.Data, fmt.Sprintf("n%d", i+1))
		out[i].SQLAddr, out[i].NodeAddr = net.JoinHostPort(host, sql), net.JoinHostPort(host, other)
		out[i].Logger = cfg.Logger.With("node", fmt.Sprintf("n%d", i+1))
	}
	return out, nil
}

// openDemo opens the nodes: first those that have data, all at once because they need each other,
// then the others, which join.
func openDemo(ctx context.Context, configs []node.Config) (nodes []*node.Node, err error) {
	defer func() {
		if err != nil {
			stopped, cancel := context.WithCancel(context.Background())
			cancel()
			err = errors.Join(err, closeNodes(stopped, nodes))
			nodes = nil
		}
	}()
	type opened struct {
		node *node.Node
		err  error
	}
	old := make(chan opened, len(configs))
	resumed := 0
	for _, cfg := range configs {
		if _, err := os.Stat(filepath.Join(cfg.Data, "VERSION")); err == nil {
			resumed++
			go func() {
				n, err := node.Open(ctx, cfg)
				old <- opened{n, err}
			}()
		}
	}
	for range resumed {
		o := <-old
		if o.err != nil {
			err = errors.Join(err, o.err)
			continue
		}
		nodes = append(nodes, o.node)
	}
	for _, cfg := range configs[min(resumed, len(configs)):] {
		if err != nil {
			break
		}
		if len(nodes) > 0 {
			token, err := nodes[0].NewToken(ctx, time.Hour, 0)
			if err != nil {
				return nodes, err
			}
			cfg.Join, cfg.Token = []string{nodes[0].NodeAddr()}, token.String()
		}
		var n *node.Node
		if n, err = node.Open(ctx, cfg); err == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes, err
}
