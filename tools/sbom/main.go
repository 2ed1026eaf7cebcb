// Command sbom writes a CycloneDX document that lists the modules in programs, with the versions and checksums that the
// programs themselves record. It reads Go binaries, and .tar.gz and .zip archives of them. The output is reproducible.
//
//	go run ./tools/sbom [-o FILE] [-version VERSION] PROGRAM|ARCHIVE…
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	to := flags.String("o", "", "output file; empty: standard output")
	version := flags.String("version", "", "version of the programs; empty: the version embedded in them, which -trimpath removes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("usage: sbom [-o FILE] [-version VERSION] PROGRAM|ARCHIVE…")
	}
	var programs []program
	for _, name := range flags.Args() {
		found, err := read(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		programs = append(programs, found...)
	}
	if len(programs) == 0 {
		return errors.New("the file contains no Go program")
	}
	text, err := json.MarshalIndent(document(programs, *version), "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if *to == "" {
		_, err = stdout.Write(text)
		return err
	}
	return os.WriteFile(*to, text, 0o644)
}

// program is a binary and its build information.
type program struct {
	name string
	sum  string // the file's SHA-256
	info *buildinfo.BuildInfo
}

// Maximum size of a program in bytes.
const maxProgramBytes = 1 << 30

// read returns the programs in a file.
func read(name string) ([]program, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out []program
	take := func(member string, r io.Reader) error {
		data, err := bounded.ReadAll(r, maxProgramBytes)
		if err != nil {
			return err
		}
		info, err := buildinfo.Read(bytes.NewReader(data))
		if err != nil {
			return nil // not a Go program
		}
		sum := sha256.Sum256(data)
		out = append(out, program{path.Base(filepath.ToSlash(member)), hex.EncodeToString(sum[:]), info})
		return nil
	}
	switch {
	case strings.HasSuffix(name, ".tar.gz"):
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return nil, err
		}
		members := tar.NewReader(z)
		for {
			h, err := members.Next()
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			if err == nil {
				err = take(h.Name, members)
			}
			if err != nil {
				return nil, err
			}
		}
	case strings.HasSuffix(name, ".zip"):
		members, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return nil, err
		}
		for _, f := range members.File {
			r, err := f.Open()
			if err != nil {
				return nil, err
			}
			err = errors.Join(take(f.Name, r), r.Close())
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	default:
		return out, take(name, bytes.NewReader(content))
	}
}

// The parts of CycloneDX 1.6 used by this program: https://cyclonedx.org/docs/1.6/json.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	URL        string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// document returns the CycloneDX document for the programs and their modules. If `version` is "", it takes the version
// from the programs.
func document(programs []program, version string) bom {
	main := programs[0].info.Main
	of := func(p program) string { return cmp.Or(version, statedVersion(p.info)) }
	out := bom{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	out.Metadata.Component = component{Type: "application", Ref: "pkg:golang/" + main.Path, Name: main.Path, Version: of(programs[0]), URL: "pkg:golang/" + main.Path}
	if v := out.Metadata.Component.Version; v != "" {
		out.Metadata.Component.URL += "@" + v
	}
	modules := map[string]component{}
	whole := dependency{Ref: out.Metadata.Component.Ref}
	for _, p := range programs {
		ref := "file:" + p.name
		whole.On = append(whole.On, ref)
		out.Components = append(out.Components, component{Type: "application", Ref: ref, Name: p.name, Version: of(p), Hashes: []hash{{"SHA-256", p.sum}},
			Properties: []property{{"go:os", setting(p.info, "GOOS")}, {"go:arch", setting(p.info, "GOARCH")}}})
		toolchain := component{Type: "library", Ref: "pkg:golang/std@" + p.info.GoVersion, Name: "std", Version: p.info.GoVersion, URL: "pkg:golang/std@" + strings.TrimPrefix(p.info.GoVersion, "go")}
		modules[toolchain.Ref] = toolchain
		needs := dependency{Ref: ref, On: []string{toolchain.Ref}}
		for _, m := range p.info.Deps {
			if m.Replace != nil {
				m = &debug.Module{Path: m.Path, Version: m.Replace.Version, Sum: m.Replace.Sum}
			}
			c := component{Type: "library", Name: m.Path, Version: m.Version, URL: "pkg:golang/" + m.Path}
			if m.Version != "" {
				c.URL += "@" + m.Version
			}
			c.Ref = c.URL
			if m.Sum != "" {
				c.Properties = []property{{"go:sum", m.Sum}} // hash of the module's files, as in go.sum
			}
			modules[c.Ref] = c
			needs.On = append(needs.On, c.Ref)
		}
		slices.Sort(needs.On)
		out.Dependencies = append(out.Dependencies, needs)
	}
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		out.Components = append(out.Components, modules[ref])
	}
	out.Dependencies = append([]dependency{whole}, out.Dependencies...)
	return out
}

func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// statedVersion returns the version from the linker flags or, if there is none, the main module's version. The main
// module's version is empty if the program was built in the module's own directory.
func statedVersion(info *buildinfo.BuildInfo) string {
	_, after, found := strings.Cut(setting(info, "-ldflags"), "pkg/app.version=")
	if !found {
		return strings.TrimSuffix(info.Main.Version, "(devel)")
	}
	version, _, _ := strings.Cut(after, " ")
	return strings.Trim(version, "\"'")
}
