package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fetchScripts extracts PostgreSQL's regression tests into dir, and returns their directory. It
// fetches Debian's source package into the user's cache directory if it is not there.
func fetchScripts(ctx context.Context, dir string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "sherd", "pgregress")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	archive, err := find(filepath.Join(cache, "postgresql-15_*.orig.tar.bz2"))
	if errors.Is(err, os.ErrNotExist) {
		if err := download(ctx, cache); err != nil {
			return "", err
		}
		archive, err = find(filepath.Join(cache, "postgresql-15_*.orig.tar.bz2"))
	}
	if err != nil {
		return "", err
	}
	if err := command(ctx, dir, "tar", "xjf", archive, "--wildcards", "*/src/test/regress"); err != nil {
		return "", err
	}
	return find(filepath.Join(dir, "postgresql-15.*", "src", "test", "regress"))
}

// find returns the last file that a pattern matches.
func find(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%s: %w", pattern, os.ErrNotExist)
	}
	return found[len(found)-1], nil
}

// download downloads Debian's source package of PostgreSQL into dir. The system's own list of
// sources stays as it is: apt gets one of its own, with the sources of packages.
func download(ctx context.Context, dir string) error {
	apt := filepath.Join(dir, "apt")
	if err := os.MkdirAll(filepath.Join(apt, "sources"), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(apt, "lists", "partial"), 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(apt)
	if err := writeSources(filepath.Join(apt, "sources")); err != nil {
		return err
	}
	options := []string{"-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o",
		"Dir::Etc::sourceparts=" + filepath.Join(apt, "sources"), "-o",
		"Dir::State::lists=" + filepath.Join(apt, "lists"), "-o", "APT::Sandbox::User=root"}
	if err := command(ctx, dir, "apt-get", append(options, "update")...); err != nil {
		return err
	}
	return downloadNewest(ctx, dir, options)
}

// downloadNewest downloads the newest version that a mirror has: the list may name one that is not
// there yet.
func downloadNewest(ctx context.Context, dir string, options []string) error {
	list := exec.CommandContext(ctx, "apt-cache", append(options, "showsrc", "--only-source", "postgresql-15")...)
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(list.Args, " "), err)
	}
	err = errors.New("no source package of PostgreSQL 15 in the lists of Debian")
	for line := range strings.Lines(string(out)) {
		version, ok := strings.CutPrefix(line, "Version: ")
		if !ok {
			continue
		}
		source := "postgresql-15=" + strings.TrimSpace(version)
		err = command(ctx, dir, "apt-get", append(options, "source", "--download-only", source)...)
		if err == nil {
			return nil
		}
	}
	return err
}

// writeSources writes the system's lists of packages as lists of their sources.
func writeSources(dir string) error {
	wrote := false
	for _, pattern := range []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list",
		"/etc/apt/sources.list.d/*.sources"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			var b strings.Builder
			for line := range strings.Lines(string(text)) {
				line = strings.Replace(line, "Types: deb\n", "Types: deb-src\n", 1)
				if rest, ok := strings.CutPrefix(line, "deb "); ok {
					line = "deb-src " + rest
				}
				b.WriteString(line)
			}
			base := filepath.Base(name)
			if base == "sources.list" {
				base = "main.list"
			}
			if err := os.WriteFile(filepath.Join(dir, base), []byte(b.String()), 0o644); err != nil {
				return err
			}
			wrote = true
		}
	}
	if !wrote {
		return errors.New("apt has no list of sources")
	}
	return nil
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
