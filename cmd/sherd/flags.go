package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sherddb/sherd/shardmap"
)

// A flag that is not on the command line is taken from the environment (--sql-addr is
// SHERD_SQL_ADDR), and if it is not there either, from the file of --config, whose keys are the
// flags' names.

// labelsFlag holds labels of a node: zone=a,disk=ssd. A second use of the flag adds labels.
type labelsFlag map[string]string

// String implements pflag.Value.
func (l *labelsFlag) String() string {
	var words []string
	for name, value := range *l {
		words = append(words, name+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

// Type implements pflag.Value.
func (*labelsFlag) Type() string { return "labels" }

// Set implements pflag.Value.
func (l *labelsFlag) Set(text string) error {
	labels, err := shardmap.ParseLabels(text)
	if err != nil {
		return fmt.Errorf("%w; write zone=a or zone=a,disk=ssd", err)
	}
	for name, value := range labels {
		if _, twice := (*l)[name]; twice {
			return fmt.Errorf("the label %q is there twice; write zone=a or zone=a,disk=ssd", name)
		}
		if *l == nil {
			*l = map[string]string{}
		}
		(*l)[name] = value
	}
	return nil
}

const (
	environmentPrefix = "SHERD_"
	configFlag        = "config"
)

// flagsFromElsewhere sets the flags that are not on the command line.
func flagsFromElsewhere(cmd *cobra.Command, _ []string) error {
	if err := flagsFromEnvironment(cmd); err != nil {
		return err
	}
	f := cmd.Flags().Lookup(configFlag)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	return flagsFromFile(cmd, f.Value.String())
}

func flagsFromEnvironment(cmd *cobra.Command) error {
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := environmentPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		v, ok := os.LookupEnv(name)
		if !ok || f.Changed || f.Name == "help" {
			return
		}
		if err := cmd.Flags().Set(f.Name, v); err != nil {
			errs = append(errs, usageError{fmt.Errorf("environment variable %s: %w", name, err)})
		}
	})
	return errors.Join(errs...)
}

func flagsFromFile(cmd *cobra.Command, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var values map[string]any
	if err := toml.Unmarshal(text, &values); err != nil {
		return usageError{fmt.Errorf("%s is not valid TOML: %w", path, err)}
	}
	for key, v := range values {
		f := cmd.Flags().Lookup(key)
		if f == nil || key == configFlag || key == "help" {
			return usageError{
				fmt.Errorf("%s: there is no setting %q; keys are the names of flags, such as sql-addr", path, key),
			}
		}
		if f.Changed {
			continue
		}
		word, err := flagText(v)
		if err == nil {
			err = cmd.Flags().Set(key, word)
		}
		if err != nil {
			return usageError{fmt.Errorf("%s: %s: %w", path, key, err)}
		}
	}
	return nil
}

// flagText returns a value of the file in the form of a flag's value: lists with commas, tables as
// key=value.
func flagText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int64, bool:
		return fmt.Sprint(v), nil
	case []any:
		var words []string
		for _, e := range v {
			w, ok := e.(string)
			if !ok {
				return "", fmt.Errorf("a list of strings is expected, and %v is in it", e)
			}
			words = append(words, w)
		}
		return strings.Join(words, ","), nil
	case map[string]any:
		var words []string
		for k, e := range v {
			w, ok := e.(string)
			if !ok {
				return "", fmt.Errorf("%s: a string is expected, and not %v", k, e)
			}
			words = append(words, k+"="+w)
		}
		slices.Sort(words)
		return strings.Join(words, ","), nil
	}
	return "", fmt.Errorf("a string, a number, a list or a table is expected, and not %v", v)
}
