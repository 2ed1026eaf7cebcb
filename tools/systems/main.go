// Command systems checks that the programs compile for all release targets. For each one, it parses and type-checks the
// files that the compiler would select, but doesn't compile them. Assembly and other non-Go files are left to the
// compiler, in make release-check.
//
//	go run ./tools/systems [GOOS/GOARCH ...]
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
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// systems lists the targets in deployments/release/goreleaser.yaml.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

const (
	programs    = "./cmd/..."
	modulePath  = "github.com/sluice/sluice/"
	maxReported = 20 // faults per system
	atOnce      = 2  // systems to check at once; more would need gigabytes of memory
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
	s := newSources()
	failed := make([]error, len(wanted))
	var working errgroup.Group
	working.SetLimit(min(runtime.GOMAXPROCS(0), atOnce))
	for i, system := range wanted {
		working.Go(func() error {
			n, err := s.check(ctx, ".", system, programs)
			if err != nil {
				failed[i] = fmt.Errorf("%s: %w", system, err)
				return nil // continue with the other systems
			}
			fmt.Fprintf(out, "%s: %d packages are right\n", system, n)
			return nil
		})
	}
	return errors.Join(append(failed, working.Wait())...)
}

// listed is a package listed by go list.
type listed struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	ImportMap             map[string]string
	Standard              bool
	Module                *struct{ GoVersion string }
	Error                 *struct{ Err string }
}

func (l listed) isOurs() bool { return strings.HasPrefix(l.ImportPath, modulePath) }

// check type-checks the packages that match the pattern, and everything they import, for one system. It returns the
// number of packages.
func (s *sources) check(ctx context.Context, dir, system, pattern string) (n int, err error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, errors.New("write a system as GOOS/GOARCH")
	}
	packages, err := list(ctx, dir, goos, goarch, pattern)
	if err != nil {
		return 0, err
	}
	parsed, err := s.parse(packages)
	if err != nil {
		return 0, err
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	var faults []error
	for i, p := range packages { // go list prints imports first
		if p.ImportPath == "unsafe" {
			continue
		}
		conf := types.Config{
			Importer: imports{p.ImportMap, checked}, Sizes: types.SizesFor("gc", goarch), FakeImportC: true,
			IgnoreFuncBodies: !p.isOurs(), // skip other modules' function bodies, which are most of the work
			Error: func(err error) {
				if len(faults) < maxReported {
					faults = append(faults, err)
				}
			},
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			conf.GoVersion = "go" + p.Module.GoVersion
		}
		checked[p.ImportPath], _ = conf.Check(p.ImportPath, s.positions, parsed[i], nil) // Error has collected the errors
	}
	return len(packages), errors.Join(faults...)
}

// list returns the packages in a build for the system, with their files.
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
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		case p.Error != nil:
			return nil, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		packages = append(packages, p)
	}
}

// sources holds parsed files, shared by all systems.
type sources struct {
	positions *token.FileSet

	mu     sync.Mutex
	parsed map[string]*ast.File
}

func newSources() *sources {
	return &sources{positions: token.NewFileSet(), parsed: map[string]*ast.File{}}
}

// parse parses the packages' files, in the packages' order.
func (s *sources) parse(packages []listed) ([][]*ast.File, error) {
	all := make([][]*ast.File, len(packages))
	var working errgroup.Group
	working.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range packages {
		all[i] = make([]*ast.File, len(p.GoFiles))
		working.Go(func() (err error) {
			for n, name := range p.GoFiles {
				if all[i][n], err = s.file(filepath.Join(p.Dir, name), p.isOurs()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all, working.Wait()
}

func (s *sources) file(path string, whole bool) (*ast.File, error) {
	s.mu.Lock()
	f := s.parsed[path]
	s.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(s.positions, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if !whole {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				fn.Body = &ast.BlockStmt{Lbrace: fn.Body.Lbrace, Rbrace: fn.Body.Rbrace} // takes most of the memory and isn't checked
			}
		}
	}
	s.mu.Lock()
	s.parsed[path] = f
	s.mu.Unlock()
	return f, nil
}

// imports resolves a package's import paths to type-checked packages.
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
