package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/raft"
	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment/recovery"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/txn"
)

const nodeRecoverLong = `Recover fragments that permanently lost their majority, with the replicas
of a stopped node (may lose data).

A fragment, and the catalog, works while a majority of its voters is running. If a majority is lost
for good, name the lost nodes:

    sherd node recover --data ./data --lost 1,2           report what is here and what would be lost
    sherd node recover --data ./data --lost 1,2 --yes     make this node's replicas the only voters

Writes that were acknowledged and had not reached this node are then lost. Run the command on one
node for the catalog, and for each fragment on one node that has a replica of it: if there are
several, on the one with the largest LAST (--only selects). Then start the node as usual. It
declares the nodes of --lost lost, and the cluster never admits them again: a lost node that is
started with its old data ends with that reason. Start a lost node only while this node runs: a
majority of the lost nodes, started alone, would continue the old cluster. Remove them with "sherd
node remove". To use one of their machines again, wipe its data directory and let it join as a new
node, with a join token.`

// catalogName is how the command calls the catalog.
const catalogName = "catalog"

func nodeRecoverCommand() *cobra.Command {
	var data, lost, only string
	yes := false
	cmd := &cobra.Command{
		Use: "recover", Short: "Recover fragments that lost their majority for good (may lose data)",
		Long: nodeRecoverLong,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			gone, err := numbers(lost)
			if err != nil || len(gone) == 0 {
				return errors.Join(
					err, errors.New("--lost names the nodes that are lost for good, by their numbers: --lost 1,2"),
				)
			}
			return nodeRecover(cmd.OutOrStdout(), data, gone, only, yes)
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "data directory of the stopped node (required)")
	cmd.Flags().StringVar(&lost, "lost", "", "numbers of the nodes that are lost for good (required)")
	cmd.Flags().StringVar(&only, "only", "", "recover only these: numbers of fragments, and "+catalogName)
	cmd.Flags().BoolVar(&yes, "yes", false, "recover; without it the command only reports")
	_ = cmd.MarkFlagRequired("data")
	return cmd
}

// numbers parses a list such as 1,2.
func numbers(list string) ([]uint32, error) {
	var out []uint32
	for _, s := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%q is not a number", s)
		}
		out = append(out, uint32(n))
	}
	return out, nil
}

func nodeRecover(out io.Writer, data string, lost []uint32, only string, yes bool) error {
	dir, err := catalog.OpenDataDir(data, settings.Version, func(string) (catalog.Identity, error) {
		return catalog.Identity{}, fmt.Errorf("%s holds no data", data)
	})
	if err != nil {
		return err
	}
	defer dir.Close()
	if slices.Contains(lost, dir.NodeID) {
		return fmt.Errorf("%s is the directory of node %d, which is among those lost", data, dir.NodeID)
	}
	node := recovery.Node{
		Data: dir.Path, CatalogDir: dir.Join("catalog"), Dir: dir.Join("fragments"), LogDir: dir.Join("log"),
		Number: dir.NodeID, Logger: slog.New(slog.DiscardHandler),
	}
	found, err := node.Look(lost)
	if err != nil {
		return err
	}
	chosen, err := chooseRemnants(found, only)
	if err != nil {
		return err
	}
	if err := tellRemnants(out, found, chosen, fragmentNames(dir.Join("catalog"), dir.NodeID)); err != nil ||
		len(chosen) == 0 {
		return err
	}
	if !yes {
		_, err = fmt.Fprintln(
			out, "\nWrites that were acknowledged after that and are not here would be lost. "+
				"Nothing was changed; run again with --yes.",
		)
		return err
	}
	if err := node.Recover(chosen, lost); err != nil {
		return err
	}
	_, err = fmt.Fprintln(
		out,
		"\nDone. Start this node, then remove the lost ones: sherd node remove NAME. "+
			"They are not admitted again with their old data.",
	)
	return err
}

// chooseRemnants returns the groups to recover: those that have lost their majority, or those of
// them that the user named.
func chooseRemnants(found []recovery.Remnant, only string) ([]txn.FragmentID, error) {
	var named []string
	if only != "" {
		named = strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' })
	}
	var out []txn.FragmentID
	for _, g := range found {
		i := slices.Index(named, remnantName(g))
		if i >= 0 {
			named = slices.Delete(named, i, i+1)
		}
		if only != "" && i < 0 {
			continue
		}
		if g.Lost {
			out = append(out, g.Fragment)
		} else if i >= 0 {
			return nil, fmt.Errorf("%s has not lost the majority of its nodes: %v", remnantName(g), g.Voters)
		}
	}
	if len(named) > 0 {
		return nil, fmt.Errorf("this node has no replica of %s", strings.Join(named, ", "))
	}
	return out, nil
}

func remnantName(g recovery.Remnant) string {
	if g.Fragment == txn.CatalogFragment {
		return catalogName
	}
	return strconv.FormatUint(uint64(g.Fragment), 10)
}

// fragmentNames returns the names of fragments in the catalog of a stopped node. It returns none if
// the catalog cannot be read, because the names only make the output easier to read.
func fragmentNames(dir string, node uint32) map[txn.FragmentID]string {
	scratch, err := os.MkdirTemp("", "sherd-recover-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(scratch)
	id := raft.ServerID(strconv.FormatUint(uint64(node), 10))
	c, err := catalog.ReadStopped(
		catalog.Options{Dir: dir, ID: id, Logger: slog.New(slog.DiscardHandler)}, filepath.Join(scratch, "catalog"),
	)
	if err != nil || c.View == nil {
		return nil
	}
	names := map[txn.FragmentID]string{}
	for d := range c.View.Databases() {
		for i := range d.Fragments {
			names[d.Fragments[i].ID] = d.FragmentName(&d.Fragments[i])
		}
	}
	return names
}

func tellRemnants(
	out io.Writer, found []recovery.Remnant, chosen []txn.FragmentID, names map[txn.FragmentID]string,
) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FRAGMENT\tNAME\tDECIDE\tLAST\tOF\tHERE")
	for _, g := range found {
		at, what := "", "has its majority"
		if !g.At.IsZero() {
			at = g.At.UTC().Format(time.DateTime) + " UTC"
		}
		switch {
		case slices.Contains(chosen, g.Fragment):
			what = "is recovered"
		case g.Lost:
			what = "has no majority"
		}
		fmt.Fprintf(
			w, "%s\t%s\t%s\t%d\t%s\t%s\n", remnantName(g), names[g.Fragment],
			strings.Trim(fmt.Sprint(g.Voters), "[]"), g.Last, at, what,
		)
	}
	return w.Flush()
}
