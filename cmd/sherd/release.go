package main

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/node"
)

// release returns the release of this program and the versions of clusters that it supports (V4).
func release() (transport.Version, error) {
	if pretended == "" {
		return node.Speaks(), nil
	}
	return parseRelease(pretended)
}

// parseRelease reads RELEASE:FROM-TO.
func parseRelease(s string) (v transport.Version, err error) {
	name, versions, _ := strings.Cut(s, ":")
	v.Release = name
	if _, err := fmt.Sscanf(versions, "%d-%d", &v.From, &v.To); err != nil || name == "" || v.From < 1 ||
		v.To < v.From {
		return v, fmt.Errorf("this program was linked as release %q, which is not RELEASE:FROM-TO", s)
	}
	return v, nil
}
