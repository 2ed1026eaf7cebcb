// Command systems checks that the three programs compile for every system that releases are made for: all packages that go into them are
// parsed and type-checked as that system's compiler would take them, and nothing is compiled. What of theirs is no Go, or needs another
// assembler, is the compiler's to see: make release-check.
//
//	go run ./deployments/systems [GOOS/GOARCH ...]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// systems are those that deployments/release/goreleaser.yaml makes archives for.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

const (
	programs = "./cmd/..."
	ours     = "github.com/sluice/sluice/"
	mostTold = 20 // faults of one system
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	wanted := os.Args[1:]
	if len(wanted) == 0 {
		wanted = systems
	}
	if err := run(ctx, wanted, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "systems:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, wanted []string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var failed []error
	for _, system := range wanted {
		began := time.Now()
		n, err := check(ctx, ".", system, programs)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", system, err))
			continue
		}
		fmt.Fprintf(out, "%s: %d packages are right, in %v\n", system, n, time.Since(began).Round(100*time.Millisecond))
	}
	return errors.Join(failed...)
}

// listed is a package as go list tells of it.
type listed struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	ImportMap             map[string]string
	Standard              bool
	Module                *struct{ GoVersion string }
	Error                 *struct{ Err string }
}

// check type-checks the packages that the pattern needs on the system, and returns how many those are.
func check(ctx context.Context, dir, system, pattern string) (n int, err error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, errors.New("a system is written GOOS/GOARCH")
	}
	packages, err := list(ctx, dir, goos, goarch, pattern)
	if err != nil {
		return 0, err
	}
	parsed, err := parse(packages)
	if err != nil {
		return 0, err
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	var faults []error
	for i, p := range packages { // go list tells of a package after those that it imports
		if p.ImportPath == "unsafe" {
			continue
		}
		isOurs := strings.HasPrefix(p.ImportPath, ours)
		conf := types.Config{
			Importer: imports{p.ImportMap, checked}, Sizes: types.SizesFor("gc", goarch), FakeImportC: true,
			IgnoreFuncBodies: !isOurs, // the bodies of others are their concern, and most of the work
			Error: func(err error) {
				if len(faults) < mostTold {
					faults = append(faults, err)
				}
			},
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			conf.GoVersion = "go" + p.Module.GoVersion
		}
		checked[p.ImportPath], _ = conf.Check(p.ImportPath, parsed.files, parsed.of[i], nil) // what is wrong has been told to Error
	}
	return len(packages), errors.Join(faults...)
}

// list asks which packages, and which files of each, a build for the system takes.
func list(ctx context.Context, dir, goos, goarch, pattern string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-json=ImportPath,Dir,Name,GoFiles,ImportMap,Standard,Module,Error", pattern)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, &errs)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("reading what go list says: %w", err)
		case p.Error != nil:
			return nil, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		packages = append(packages, p)
	}
}

// files are the packages' files, by the packages' places in their list.
type files struct {
	files *token.FileSet
	of    [][]*ast.File
}

func parse(packages []listed) (files, error) {
	parsed := files{files: token.NewFileSet(), of: make([][]*ast.File, len(packages))}
	var working errgroup.Group
	working.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range packages {
		parsed.of[i] = make([]*ast.File, len(p.GoFiles))
		working.Go(func() error {
			for n, name := range p.GoFiles {
				file, err := parser.ParseFile(parsed.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				parsed.of[i][n] = file
			}
			return nil
		})
	}
	return parsed, working.Wait()
}

// imports are the packages that have been checked, under the names that a package imports them by.
type imports struct {
	renamed map[string]string
	checked map[string]*types.Package
}

// Import implements types.Importer.
func (i imports) Import(path string) (*types.Package, error) {
	if to, ok := i.renamed[path]; ok {
		path = to
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not among the packages of %s", path, build.Default.Compiler)
}
