// Package bench is shared by programs that measure Sluice from the outside, and by the demo. It parses flags, starts
// the service and the programs to compare it with, reads document collections, measures processes' resource usage and
// writes Markdown tables.
package bench

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Main runs a program until it finishes or receives a signal to stop. If it fails, Main exits with 1.
func Main(name string, run func(ctx context.Context, args []string, out, errs io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Flags holds a program's flags.
type Flags struct {
	*flag.FlagSet
	paths []*string
}

// NewFlags returns a flag set for the named program. Errors and help are written to `errs`.
func NewFlags(name string, errs io.Writer) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(errs)
	return f
}

// Program adds the -api flag, which is the path to the service's program.
func (f *Flags) Program(p *string) { f.StringVar(p, "api", "bin/sluice", "the service's program") }

// Write adds the -write flag, which is the path to the document in which Publish replaces a section of figures.
func (f *Flags) Write(p *string) {
	f.StringVar(p, "write", "", "a Markdown file whose section of figures is replaced")
}

// Peers adds the -venv and -alone flags. By default, the Python environment is in sluice/`name` in the user's cache
// directory.
func (f *Flags) Peers(venv *string, alone *bool, name string) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	f.StringVar(venv, "venv", filepath.Join(cache, "sluice", name), "folder for the peers' Python environment, which is created if it does not exist")
	f.BoolVar(alone, "alone", false, "measure Sluice alone")
}

// Path adds a flag for a file or folder, which Parse makes absolute. The environment variable `env`, if set, is the
// default.
func (f *Flags) Path(p *string, name, env, value, usage string) {
	value, usage = fromEnvironment(env, value, usage)
	f.StringVar(p, name, value, usage)
	f.paths = append(f.paths, p)
}

// List adds a flag for a comma-separated list. If `known` is not empty, items that are not in `known` are errors.
func (f *Flags) List(p *[]string, name, env, value, usage string, known ...string) {
	value, usage = fromEnvironment(env, value, usage)
	*p = splitList(value)
	f.Func(name, usage+" (default "+cmp.Or(value, "all")+")", func(text string) error {
		*p = splitList(text)
		for _, item := range *p {
			if len(known) > 0 && !slices.Contains(known, item) {
				return fmt.Errorf("%q is none of %s", item, strings.Join(known, ", "))
			}
		}
		return nil
	})
}

func fromEnvironment(env, value, usage string) (string, string) {
	if env == "" {
		return value, usage
	}
	return cmp.Or(os.Getenv(env), value), usage + "; also " + env
}

func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// Parse parses the arguments. Only flags are allowed.
func (f *Flags) Parse(args []string) error {
	if err := f.FlagSet.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for _, p := range f.paths {
		if *p != "" {
			var err error
			if *p, err = filepath.Abs(*p); err != nil {
				return err
			}
		}
	}
	return nil
}
