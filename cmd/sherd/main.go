// Command sherd is Sherd: the server, and the tools for its users and operators. The wiring diagram
// of a node is package node; here are flags, signals and texts.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sherddb/sherd/sql/settings"
)

// pretended makes the program act as another release, RELEASE:FROM-TO. The linker sets it (-ldflags
// "-X main.pretended=0.2.0:1-2") for tests of upgrades, which need two programs.
var pretended string

func main() {
	if err := root().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "sherd: "+err.Error())
		os.Exit(exitCode(err))
	}
}

// usageError is a call that cannot be understood; the process exits with 2.
type usageError struct{ error }

func exitCode(err error) int {
	var u usageError
	if errors.As(err, &u) {
		return 2
	}
	return 1
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sherd",
		Short: "A sharded document database that speaks PostgreSQL",
		Long: `Sherd is a sharded document database that speaks PostgreSQL.

Try it:    sherd demo
           a cluster in one process with sample data; it prints the psql line to connect with
Run it:    sherd start --data DIR
           and on more machines the command that "sherd node token" prints
Fill it:   sherd import packages.jsonl.gz --table packages --id id`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if text, err := versionText(); err == nil { // --version, as in psql and postgres
		cmd.Version = text
		cmd.SetVersionTemplate("{{.Version}}\n")
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.AddCommand(
		startCommand(), demoCommand(), importCommand(), sqlCommand(), exportCommand(), checkCommand(), nodeCommand(),
		versionCommand(),
	)
	return cmd
}

func versionText() (string, error) {
	v, err := release()
	return fmt.Sprintf("sherd %s (PostgreSQL %s compatible)", v.Release, settings.ServerVersion), err
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := versionText()
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
			}
			return err
		},
	}
}
