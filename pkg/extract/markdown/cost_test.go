package markdown

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyHostileMarkdownIsTooExpensive(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"a picture within its address":       {"![a](data:image/png;base64," + strings.Repeat("QUJD", 1<<20) + ")", false},
		"five thousand links in one line":    {strings.Repeat("[name](https://example.com/a/path) ", 5_000), false},
		"five thousand references":           {strings.Repeat("[name]: https://example.com/a/path\n", 5_000), false},
		"a list of a hundred thousand items": {strings.Repeat("- an item\n  - and one in it\n    1. and in that\n", 33_000), false},
		"code with far indentation":          {"```\n" + strings.Repeat(strings.Repeat(" ", 200)+"call(a, b)\n", 10_000) + "```\n", false},
		"a mail quoted thirty times":         {strings.Repeat(strings.Repeat("> ", 30)+"yes\n", 10_000), false},
		"links that never close":             {strings.Repeat("[a](", 100_000), true},
		"items each within the last": {func() string {
			var b strings.Builder
			for n := range 2000 {
				b.WriteString(strings.Repeat(" ", 2*n) + "- a\n")
			}
			return b.String()
		}(), true},
	} {
		if got := tooExpensive(tt.text); got != "" != tt.want {
			t.Errorf("%s: tangled says %q, want something: %v", name, got, tt.want)
		}
	}
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d documents, error %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if why := tooExpensive(strings.Repeat(string(data)+"\n\n", 50)); why != "" {
			t.Errorf("%s, fifty times over: %s", file, why)
		}
	}
}
