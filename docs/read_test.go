package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = ".."

// page is a Markdown file in the repository.
type page struct {
	name   string // relative to the repository's root
	text   string
	blocks []block
}

// block is a fenced code block on a page.
type block struct {
	line     int
	language string
	text     string
	notRun   string // why the block is skipped, from the comment before it
	first    string // hidden setup commands, from the comment before it
}

// Comments before a block. A notRun comment excludes the block from the test. A `first` comment holds commands that set
// up what a reader would already have.
var (
	notRun = regexp.MustCompile(`^<!-- not run: (.+) -->$`)
	first  = regexp.MustCompile(`^<!-- first: (.+) -->$`)
)

// pages reads all user documentation: the pages in this directory and in the root directory, and the README files in
// other directories.
func pages(t *testing.T) []page {
	t.Helper()
	var out []page
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "data" || base == "bin" || base == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		top, inDocs := !strings.Contains(name, "/"), strings.HasPrefix(name, "docs/")
		if !strings.HasSuffix(name, ".md") || !top && !inDocs && d.Name() != "README.md" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		p := page{name: name, text: string(text)}
		if p.blocks, err = blocksOf(p.text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("%d pages were found", len(out))
	}
	return out
}

// blocksOf returns a page's fenced code blocks.
func blocksOf(text string) ([]block, error) {
	var out []block
	var open *block
	var fence, before string
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case open != nil && trimmed == fence:
			out, open = append(out, *open), nil
			before = ""
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
			open = &block{line: i + 1, language: strings.TrimSpace(strings.TrimLeft(trimmed, "`"))}
			if m := notRun.FindStringSubmatch(before); m != nil {
				open.notRun = m[1]
			}
			if m := first.FindStringSubmatch(before); m != nil {
				open.first = m[1]
			}
		case trimmed != "":
			before = trimmed
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block has no end", open.line)
	}
	return out, nil
}

// prose returns the page's text without code blocks and comments.
func (p page) prose() string {
	var b strings.Builder
	inside := ""
	for line := range strings.SplitSeq(p.text, "\n") {
		trimmed := strings.TrimSpace(line)
		fence := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case inside != "" && trimmed == inside:
			inside = ""
		case inside == "" && len(fence) >= 3:
			inside = fence
		case inside == "":
			b.WriteString(line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestBlocksAreFound(t *testing.T) {
	t.Parallel()
	got, err := blocksOf("a\n\n<!-- first: b -->\n```sh\nx\n```\n\n<!-- not run: why -->\n```sh\ny\n\nz\n```\n````md\n```sh\n```\n````\n")
	const want = `[{4 sh x
  b} {9 sh y

z
 why } {14 md ` + "```sh\n```\n" + `  }]`
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	if _, err := blocksOf("```sh\nx\n"); err == nil {
		t.Error("a block without an end was taken")
	}
}
