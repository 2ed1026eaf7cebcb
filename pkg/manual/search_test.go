package manual

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// searched returns the hits for a documentation search over HTTP.
func searched(t *testing.T, query string) []Hit {
	t.Helper()
	w := get(t, Search+"?q="+url.QueryEscape(query))
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("the hits are %s", kind)
	}
	var hits []Hit
	if err := json.Unmarshal(w.Body.Bytes(), &hits); err != nil || len(hits) > maxHits {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	return hits
}

func TestSearchOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"configuration":              Root + "/configuration",
		"configur":                   Root + "/configuration",
		"SLUICE_CRAWL_TRIES":         Root + "/configuration",
		"robots.txt":                 Root + "/crawling",
		"how do I restore a backup?": Root + "/backup",
		"DATABASE_URL":               Root + "/",
		"embed":                      Root + "/embed",
		"allowed origins":            Root + "/embed#allowed-origins",
	} {
		hits := searched(t, query)
		found := slices.ContainsFunc(hits[:min(len(hits), 3)], func(h Hit) bool { return strings.HasPrefix(h.At, want) })
		if !found {
			t.Errorf("%q finds %+v, want %s among the first three", query, hits, want)
		}
	}
	for _, query := range []string{"", " ", "?", "qwzxvbn", strings.Repeat("ü", 5000), "\xff\x00"} {
		if hits := searched(t, query); len(hits) > 0 {
			t.Errorf("%.20q finds %+v", query, hits)
		}
	}
}

// TestEveryHeadingIsFound searches for each of the documentation's headings, together with its page's title.
func TestEveryHeadingIsFound(t *testing.T) {
	t.Parallel()
	s, err := load()
	if err != nil {
		t.Fatal(err)
	}
	all := s.search()
	missed := 0
	for _, p := range all.passages {
		found := false
		for _, h := range all.find(p.page + " " + p.heading + " ") {
			found = found || h.At == p.at
		}
		if !found {
			missed++
			t.Logf("%q of %q is not found", p.heading, p.page)
		}
	}
	// A heading that consists of function words, or occurs on many pages, may rank below other results.
	if missed*50 > len(all.passages) {
		t.Errorf("%d of %d headings are not found", missed, len(all.passages))
	}
}

func TestHits(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"a.md":     {Data: []byte("# Pumps\n\nAll about pumps.\n\n## Service\n\nChange the <b>seal</b> every *two* years.\n\n| part | price |\n|---|---|\n| valve | 12 |\n\n```sh\npumpctl --drain\n```\n")},
		"b.md":     {Data: []byte("# Letters\n\n" + strings.Repeat("Filler words stand here. ", 40) + "A sealed letter arrives. " + strings.Repeat("More words follow. ", 40) + "\n")},
		"adr/c.md": {Data: []byte("# Seals\n\nWhy a seal.\n")},
	}
	built, err := build(files)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"seal":     `[{"page":"Pumps","text":"Service","at":"/docs/a#service","excerpt":["Change the ","seal"," every two years. part price valve 12 pumpctl --drain"]},`,
		"drain":    `[{"page":"Pumps","text":"Service","at":"/docs/a#service","excerpt":["Change the seal every two years. part price valve 12 pumpctl --","drain",""]}]`,
		"valve 12": `[{"page":"Pumps","text":"Service","at":"/docs/a#service","excerpt":["Change the seal every two years. part price ","valve"," ","12"," pumpctl --drain"]}]`,
		"arri":     `[{"page":"Letters","at":"/docs/b","excerpt":["… `,
		"arri ":    `[]`,
	} {
		got, err := json.Marshal(built.search().find(query))
		if err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%q finds\n%s, want\n%s", query, got, want)
		}
	}
	long := built.search().find("arriving letter")[0].Excerpt
	if text := strings.Join(long, ""); !strings.Contains(text, "A sealed letter arrives.") || len(text) > excerptLength+10 || !strings.HasSuffix(text, " …") {
		t.Errorf("the excerpt is %q", long)
	}
}

func BenchmarkSearch(b *testing.B) {
	s, err := load()
	if err != nil {
		b.Fatal(err)
	}
	all := s.search()
	for b.Loop() {
		all.find("how do I restore a backup of the conf")
	}
}
