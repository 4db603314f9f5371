package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// portableOption makes the server leave out of its catalogs what PostgreSQL does not know.
const portableOption = "-c sherd.portable_dump=on"

func exportCommand() *cobra.Command {
	url, portable := defaultURL, false
	cmd := &cobra.Command{
		Use:   "export [--portable] [-- pg_dump options]",
		Short: "Write a dump of a database",
		Long: `Write a dump of a database with PostgreSQL's pg_dump. Restore it with psql or pg_restore.

With --portable the dump has no sharding policies and none of Sherd's storage parameters, so it can
be restored into PostgreSQL 15. Options after -- are passed to pg_dump.`,
		Example: `  sherd export --url postgres://postgres@127.0.0.1:5433/shop > shop.sql
  sherd export --portable -- --format=custom --file=shop.dump`,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return urlFromEnvironment(cmd, &url) },
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := exec.LookPath("pg_dump")
			if err != nil {
				return fmt.Errorf("pg_dump is not installed; it comes with PostgreSQL's client programs: %w", err)
			}
			return syscall.Exec(
				program, append([]string{"pg_dump", "--dbname", url}, args...),
				exportEnvironment(os.Environ(), portable),
			)
		},
	}
	cmd.Flags().StringVar(&url, "url", url, "connection string of a node; also SHERD_URL")
	cmd.Flags().BoolVar(&portable, "portable", false, "make a dump that PostgreSQL can restore")
	return cmd
}

// exportEnvironment adds portableOption to the options that libpq takes from the environment.
func exportEnvironment(environment []string, portable bool) []string {
	if !portable {
		return environment
	}
	const name = "PGOPTIONS="
	options := portableOption
	var out []string
	for _, v := range environment {
		if had, ok := strings.CutPrefix(v, name); ok {
			options = strings.TrimSpace(had + " " + portableOption)
		} else {
			out = append(out, v)
		}
	}
	return append(out, name+options)
}
