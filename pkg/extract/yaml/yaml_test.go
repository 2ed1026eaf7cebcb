package yaml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// values is a file like those for Helm charts and CI pipelines, with comments above and after values, anchors, merges
// and block text.
const values = `# Settings of the gate

# Number of porters
porters: 2
# How the gate is opened
gate: &gate
  hours: 9-17 # local time
  keys: ["front", back]
  note: |
    Ring twice.
    Wait.
night:
  <<: *gate
  hours: none
staff:
  - name: Ann
    shift: early
  - name: Bo
    shift: *shift-late
    code: 0x1F
`

func TestYAMLIsReadAsRecords(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want, warning string }{
		"settings with comments": {strings.Replace(values, "shift: early", "shift: &shift-late early", 1),
			"paragraph: # Settings of the gate\nporters: 2 # Number of porters\nheading 1: gate\nparagraph: # How the gate is opened\nhours: 9-17 # local time\n" +
				"heading 2: keys\nparagraph: front, back\nparagraph: note: Ring twice.\nWait.\nheading 1: night\nparagraph: hours: none\nheading 2: keys\nparagraph: front, back\n" +
				"paragraph: note: Ring twice.\nWait.\nheading 1: staff\ntable_row: name: Ann; shift: early\ntable_row: name: Bo; shift: early; code: 0x1F", ""},
		"a long comment":        {"# " + strings.Repeat("long ", 60) + "\na: 1 # short\n", "paragraph: # " + strings.TrimSpace(strings.Repeat("long ", 60)) + "\na: 1 # short", ""},
		"several documents":     {"---\nkind: Gate\nspec: {name: north}\n---\n# nothing\n---\nkind: Wall\n...\n", "table_row row 2: kind: Gate; spec.name: north\ntable_row row 7: kind: Wall", ""},
		"scalars of every type": {"a: 1.50\nb: yes\nc: null\nd: ~\ne: ''\nf: 2024-01-02\ng: !!binary aGVsbG8=\nh: !Ref Gate\n", "paragraph: a: 1.50\nb: yes\nf: 2024-01-02\nh: Gate", "binary values"},
		"a list":                {"- one\n- two # second\n", "paragraph: one, two # second", ""},
		"keys of several kinds": {"1: a\n? [b, c]\n: d\ntrue: e\n", "paragraph: 1: a\nb, c: d\ntrue: e", ""},
		"JSON":                  {"{\"a\": [1, 2]}", "heading 1: a\nparagraph: 1, 2", ""},
		"words alone":           {"only words\n", "paragraph: only words", ""},
		"a template":            {"a: {{ .Values.a }}\n{{- if .b }}\nb: 1\n{{- end }}\n", "paragraph: a: {{ .Values.a }}\n{{- if .b }}\nb: 1\n{{- end }}", "not valid YAML"},
		"an unknown alias":      {"a: *b\n", "paragraph: a: *b", "unknown anchor"},
		"an alias of itself":    {"a: &a\n  - x\n  - *a\n", "heading 1: a\nparagraph: x", "nested deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.yaml", []byte(tt.text))
			if tt.warning == "nested deeper" {
				if extract.KindOf(err) != extract.TooLarge || !strings.Contains(err.Error(), tt.warning) {
					t.Errorf("error = %v, want TooLarge with %q", err, tt.warning)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if got := strings.Join(doc.Warnings, "\n"); tt.warning == "" && got != "" || !strings.Contains(got, tt.warning) {
				t.Errorf("warnings = %q, want %q", got, tt.warning)
			}
		})
	}
}

func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("kept: words\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	doc := readtest.MustParse(t, "a.yml", []byte(b.String()))
	if text := readtest.Text(doc); len(text) > 4<<20 || !strings.Contains(text, "kept: words") || len(doc.Warnings) != 1 {
		t.Errorf("%d bytes of text, warnings %q, want at most 4 MiB and one warning", len(text), doc.Warnings)
	}
	merges := "a0: &a0 {k0: v}\n"
	for i := range 30 {
		merges += fmt.Sprintf("a%d: &a%d {<<: [*a%d, *a%d, *a%d]}\n", i+1, i+1, i, i, i)
	}
	readtest.Check(t, "a.yml", []byte(merges))
}

func TestDamagedYAML(t *testing.T) {
	t.Parallel()
	readtest.Damaged(t, "a.yaml", []byte(values))
	for _, text := range []string{strings.Repeat("[", 100_000), strings.Repeat("- ", 100_000), strings.Repeat("? ", 50_000), strings.Repeat("{a: ", 20_000), strings.Repeat("a:\n ", 1000), "a: &a [*a, *a]\nb: *a"} {
		readtest.Check(t, "a.yaml", []byte(text))
	}
}

func FuzzYAML(f *testing.F) { readtest.Format(f, ".yaml", values, "a: &a [*a]\n<<: *a\n") }
