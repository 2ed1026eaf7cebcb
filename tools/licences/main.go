// Command licences lists the licences of all modules that the programs are built of, as it finds them in the modules
// themselves, in a table of Markdown. It fails when one has no licence that it knows, or one whose terms would reach the
// whole program.
//
//	go run ./tools/licences docs/licences.md
//	go run ./tools/licences -texts FILE        their texts, for archives of the programs
package main

//go:generate go run . ../../docs/licences.md

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "licences: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	write := table
	if len(args) == 2 && args[0] == "-texts" {
		write, args = texts, args[1:]
	}
	if len(args) != 1 {
		return errors.New("usage: licences [-texts] FILE")
	}
	modules, err := list(ctx)
	if err != nil {
		return err
	}
	text, err := write(modules)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], text, 0o644)
}

// module is a module that a program is built of.
type module struct {
	path, version string
	dir           string // where its files lie
}

// programs are the packages whose modules are listed.
const programs = "github.com/sluice/sluice/cmd/..."

// tags are the build tags of the Makefile.
const tags = "nomsgpack,grpcnotrace"

// list asks the go command.
func list(ctx context.Context) ([]module, error) {
	// What a directory of ours stands in for is ours.
	const format = `{{with .Module}}{{if not (or .Main (and .Replace (not .Replace.Version)))}}{{.Path}}	{{.Version}}	{{.Dir}}{{end}}{{end}}`
	var problems bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "list", "-tags", tags, "-deps", "-f", format, programs)
	cmd.Stderr = &problems
	// What is built is built without C, for Linux.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules of %s: %w: %s", programs, err, &problems)
	}
	seen := map[module]bool{}
	var modules []module
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			continue // a package of the standard library, or of ours
		}
		if m := (module{fields[0], fields[1], fields[2]}); !seen[m] {
			seen[m] = true
			modules = append(modules, m)
		}
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return modules, nil
}

// table writes down what is known of the modules.
func table(modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Licences\n\nThe modules that `sluice` is built of. Written by `make generate`; do not edit.\n\n| module | licence |\n|---|---|\n")
	var faults []error
	for _, m := range modules {
		names, err := licences(m.dir)
		if name, isStated := stated[m.path]; isStated && names == nil {
			names, err = []string{name}, nil
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s %s: %w", m.path, m.version, err))
			continue
		}
		// Without versions: the table changes when a licence does.
		fmt.Fprintf(&b, "| %s | %s |\n", m.path, strings.Join(names, ", "))
	}
	return b.Bytes(), errors.Join(faults...)
}

// aText matches the names of files that go with a program: licences, and what they ask to be passed on.
var aText = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// texts puts the licences of all modules, and their notices, one after the other.
func texts(modules []module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("The programs are built of these modules, under these licences.\n")
	for _, m := range modules {
		files, err := os.ReadDir(m.dir)
		if err != nil {
			return nil, fmt.Errorf("looking for the licence of %s: %w", m.path, err)
		}
		for _, f := range files {
			if f.IsDir() || f.Name() == ofPictures || !aText.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(m.dir, f.Name()))
			if err != nil {
				return nil, fmt.Errorf("reading the licence of %s: %w", m.path, err)
			}
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, f.Name(), bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), nil
}

// stated are the licences of modules that are a part of a repository, and leave out the file in its root.
var stated = map[string]string{"github.com/milvus-io/milvus-proto/go-api/v2": "Apache-2.0"}

// ofPictures names what a picture may be used for.
const ofPictures = "LICENSE-LOGO"

// aLicence matches the names of files that hold a licence.
var aLicence = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([-._].*)?$`)

// licences are the names (SPDX) of those in a directory.
func licences(dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("looking for its licence: %w", err)
	}
	var names []string
	for _, f := range files {
		if f.IsDir() || f.Name() == ofPictures || !aLicence.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading its licence: %w", err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		known, err := classify(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		names = append(names, known...)
	}
	if len(names) == 0 {
		return nil, errors.New("has no file with a licence")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// phrases are what a licence is known by. The titles are those of the texts themselves: other licences name them otherwise.
var phrases = []struct {
	name   string
	reach  bool // its terms would reach the whole program
	phrase string
}{
	{"AGPL", true, "GNU AFFERO GENERAL PUBLIC LICENSE Version"},
	{"LGPL", true, "GNU LESSER GENERAL PUBLIC LICENSE Version"},
	{"GPL", true, "GNU GENERAL PUBLIC LICENSE Version"},
	{"SSPL", true, "Server Side Public License VERSION"},
	{"BUSL", true, "Business Source License 1"},
	{"MPL-2.0", false, "Mozilla Public License Version 2.0"},
	{"MPL-2.0", false, "Mozilla Public License, version 2.0"},
	{"Apache-2.0", false, "Apache License Version 2.0"},
	{"Apache-2.0", false, "under the Apache License, Version 2.0"},
	{"BSD", false, "Redistribution and use in source and binary forms"},
	{"MIT", false, "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", false, "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", false, "Permission to use, copy, modify, and distribute this software for any purpose"},
	{"Unlicense", false, "This is free and unencumbered software released into the public domain"},
	{"CC0-1.0", false, "CC0 1.0 Universal"},
	{"public domain", false, "has been dedicated to the public domain by the authors"},
}

// classify names the licences that a text holds, at least one.
func classify(text string) (names []string, err error) {
	plain := strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, p := range phrases {
		switch {
		case !strings.Contains(plain, strings.ToLower(p.phrase)):
		case p.reach:
			return nil, fmt.Errorf("is %s, whose terms would reach the whole program", p.name)
		default:
			names = append(names, p.name)
		}
	}
	if names == nil {
		return nil, errors.New("is none that is known; add what it is known by, if its terms allow")
	}
	return names, nil
}
