package docs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/sluice/sluice/pkg/config"
)

// Languages allowed for code blocks. A block without a language shows a command's output.
var languages = map[string]bool{"": true, "sh": true, "python": true, "go": true, "json": true, "jsonl": true, "yaml": true, "ini": true, "text": true, "html": true, "css": true, "js": true}

func TestDataOfThePagesCanBeRead(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if !languages[b.language] {
				t.Errorf("%s, line %d: %q is none of the languages that are checked", p.name, b.line, b.language)
			}
			if b.notRun != "" {
				continue
			}
			if err := readable(b); err != nil {
				t.Errorf("%s, line %d: %v; a part of something has `<!-- not run: why -->` before it", p.name, b.line, err)
			}
		}
	}
}

func readable(b block) error {
	switch b.language {
	case "json", "jsonl": // JSON Lines is a sequence of JSON values
		d := json.NewDecoder(strings.NewReader(b.text))
		for {
			var v any
			if err := d.Decode(&v); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	case "yaml":
		d := yaml.NewDecoder(strings.NewReader(b.text))
		for {
			var v any
			if err := d.Decode(&v); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

func TestGoCodeOfThePagesCompiles(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "go" || b.notRun != "" {
				continue
			}
			name := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(name, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "vet", name)
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s, line %d: %v\n%s", p.name, b.line, err, out)
			}
		}
	}
}

// variable matches environment variables that look like Sluice settings.
var variable = regexp.MustCompile(`\b(?:SLUICE|NATS|DATABASE|MILVUS|OPENAI|AZURE_OPENAI|ANTHROPIC|RERANK|CHROME)_[A-Z0-9_]*[A-Z0-9_*…]`)

// ofOthers maps names that look like Sluice settings but aren't to what they are.
var ofOthers = map[string]string{
	"SLUICE_DATASTORE":        "a datastore's id, in examples",
	"SLUICE_URL":              "the service that a client talks to",
	"SLUICE_TEST_MODEL":       "a setting of tests",
	"SLUICE_API_SERVICE_HOST": "what Kubernetes sets of itself",
	"NATS_USER":               "a setting of the command nats",
}

func TestSettingsThatPagesNameExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Env] = true
	}
	for _, p := range pages(t) {
		if p.name == "CHANGELOG.md" || strings.HasPrefix(p.name, "docs/adr/") {
			continue // they describe the past
		}
		for _, name := range variable.FindAllString(p.text, -1) {
			if known[name] || ofOthers[name] != "" {
				continue
			}
			stem := strings.TrimRight(name, "*…")
			found := false
			for k := range known {
				found = found || strings.HasSuffix(stem, "_") && strings.HasPrefix(k, stem)
			}
			if !found {
				t.Errorf("%s names %s, which is no setting", p.name, name)
			}
		}
	}
}

var (
	inlineLink = regexp.MustCompile(`\]\(([^()\s]+(?:\([^()\s]*\))?)(?:\s+"[^"]*")?\)`)
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	aHeading   = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	linkInside = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	anchors := map[string]map[string]bool{}
	for _, p := range all {
		anchors[p.name] = anchorsOf(p)
	}
	for _, p := range all {
		for _, m := range inlineLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(p.prose(), "`code`"), -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue // an external link; the test does not use the network
			}
			if err := leads(p, target, anchors); err != nil {
				t.Errorf("%s: [%s]: %v", p.name, target, err)
			}
		}
	}
}

func leads(p page, target string, anchors map[string]map[string]bool) error {
	file, fragment, hasFragment := strings.Cut(target, "#")
	at := p.name
	if file != "" {
		at = path.Join(path.Dir(p.name), file)
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(at))); err != nil {
		return fmt.Errorf("there is no %s", at)
	}
	if known, isPage := anchors[at]; hasFragment && isPage && !known[fragment] {
		return fmt.Errorf("%s has no heading #%s", at, fragment)
	}
	return nil
}

// anchorsOf returns the anchors GitHub generates for a page's headings.
func anchorsOf(p page) map[string]bool {
	out := map[string]bool{}
	for _, m := range aHeading.FindAllStringSubmatch(p.prose(), -1) {
		text := strings.ReplaceAll(linkInside.ReplaceAllString(m[1], "$1"), "`", "")
		id := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
				return unicode.ToLower(r)
			}
			return -1
		}, text)
		name := id
		for n := 1; out[name]; n++ {
			name = fmt.Sprintf("%s-%d", id, n)
		}
		out[name] = true
	}
	return out
}

// TestThePackageMapIsComplete checks that CONTRIBUTING.md names every package.
func TestThePackageMapIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := os.ReadDir(filepath.Join(root, "pkg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if p.IsDir() && !strings.Contains(string(text), "`"+p.Name()+"`") {
			t.Errorf("CONTRIBUTING.md does not name the package %s", p.Name())
		}
	}
}
