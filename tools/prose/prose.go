// Command prose lists comments, messages and documents with phrases that plain English avoids, which makes them hard to
// read. Run it in the repository's root. Arguments are path prefixes that restrict the list.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	files, err := tracked(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
	for _, name := range files {
		if len(os.Args) > 1 && !hasPrefix(name, os.Args[1:]) {
			continue
		}
		passages, err := read(".", name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			os.Exit(1)
		}
		for _, f := range findings(passages) {
			fmt.Println(f)
		}
	}
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Kinds of passages.
const (
	comment  = "comment"
	message  = "message"
	document = "document"
	name     = "name"
)

// passage is a line in a comment or document, a string literal of several words, or a declared name.
type passage struct {
	file string
	line int
	kind string
	text string
}

// finding is a passage that breaks a rule.
type finding struct {
	passage
	rule, instead string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s (%s): %.120q; %s", f.file, f.line, f.rule, f.kind, f.text, f.instead)
}

func findings(passages []passage) (out []finding) {
	for _, p := range passages {
		if p.kind == name {
			if homemadeName.MatchString(p.text) {
				out = append(out, finding{p, "name", "use max, min or the field's term"})
			}
			continue
		}
		for _, r := range rules {
			if r.finds(p.text) {
				out = append(out, finding{p, r.name, r.instead})
			}
		}
	}
	return out
}

// skipped matches generated files, test data, tests and historical records.
var skipped = regexp.MustCompile(`(^|/)(third_party|testdata|archive|history)/|\.gen\.go$|_test\.go$|CHANGELOG`)

// tracked returns the Go and Markdown files in Git below a directory, except those that `skipped` matches.
func tracked(dir string) ([]string, error) {
	cmd := exec.Command("git", "-C", dir, "ls-files", "-z", "--", "*.go", "*.md") //nolint:noctx // it exits by itself
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files in Git: %w", err)
	}
	var files []string
	for _, f := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if !skipped.MatchString(f) {
			files = append(files, f)
		}
	}
	return files, nil
}

// read returns a file's passages. Git may list a deleted file, which has none.
func read(dir, file string) ([]passage, error) {
	src, err := os.ReadFile(dir + "/" + file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(file, ".md") {
		return readMarkdown(file, src), nil
	}
	return readGo(file, src)
}

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT`)
	quoted    = regexp.MustCompile("`[^`]*`" + `|\]\([^)]*\)`)
)

// readMarkdown returns the lines outside code blocks, without quoted code and link targets.
func readMarkdown(file string, src []byte) (out []passage) {
	fenced := false
	for i, line := range strings.Split(string(src), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced, line == "", strings.HasPrefix(line, "<!--"):
		default:
			text := quoted.ReplaceAllString(strings.TrimLeft(line, "#-*>| "), "")
			out = append(out, passage{file, i + 1, document, text})
		}
	}
	return out
}

// readGo returns comment lines, string literals with at least four words, and declared names.
func readGo(file string, src []byte) (out []passage, err error) {
	if generated.Match(src) {
		return nil, nil
	}
	positions := token.NewFileSet()
	tree, err := parser.ParseFile(positions, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range tree.Comments {
		for _, c := range group.List {
			first := positions.Position(c.Pos()).Line
			for i, line := range strings.Split(c.Text, "\n") {
				text := strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(line, " \t"), "//"))
				if !strings.HasPrefix(line, "//go:") && !strings.HasPrefix(text, "nolint") && text != "" {
					out = append(out, passage{file, first + i, comment, text})
				}
			}
		}
	}
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				tags[n.Tag] = true
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING || tags[n] {
				break
			}
			if text, err := strconv.Unquote(n.Value); err == nil && strings.Count(text, " ") >= 3 {
				out = append(out, passage{file, positions.Position(n.Pos()).Line, message, oneLine(text)})
			}
		case *ast.Ident:
			if n.Obj == nil && declares(tree, n) {
				out = append(out, passage{file, positions.Position(n.Pos()).Line, name, n.Name})
			}
		}
		return true
	})
	return out, nil
}

func oneLine(s string) string { return string(bytes.Join(bytes.Fields([]byte(s)), []byte(" "))) }

// declares reports whether the file declares the identifier at the top level.
func declares(tree *ast.File, id *ast.Ident) bool {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name == id {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name == id {
						return true
					}
				case *ast.ValueSpec:
					if slices.Contains(s.Names, id) {
						return true
					}
				}
			}
		}
	}
	return false
}
