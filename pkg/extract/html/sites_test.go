package html_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	pages "github.com/sluice/sluice/pkg/extract/html"
	"github.com/sluice/sluice/pkg/wordset"
)

// Minimum recall and F1 score that extraction must reach on the documentation sites' main regions.
const (
	minBlockRecall = 0.995 // fraction of all headings and blocks on a site
	minTokenF1     = 0.98  // mean over sampledPages pages from all sites, and over each site's sample
	sampledPages   = 100
)

// docSite is a documentation site as installed by its package. `main` recognises the element with the content, and
// `drop` the elements in it that aren't content. Both functions rely on the theme's markup, not on the extractor.
type docSite struct {
	name  string
	files string // pattern for folders with pages, below the sites' directory
	main  func(*html.Node) bool
	drop  func(*html.Node) bool
}

var docSites = []docSite{
	{
		name: "python3-doc", files: "python3*/html",
		main: func(n *html.Node) bool { return pages.Attr(n, "role") == "main" },
	},
	{
		name: "python-django-doc", files: "python-django-doc/html",
		main: func(n *html.Node) bool { return pages.Attr(n, "class") == "yui-g" },
		drop: func(n *html.Node) bool { return pages.Attr(n, "class") == "viewcode-link" },
	},
	{
		name: "sqlite3-doc", files: "sqlite3",
		main: func(n *html.Node) bool { return n.DataAtom == atom.Body },
		drop: func(n *html.Node) bool { return pages.Attr(n, "class") == "nosearch" }, // excluded from the site's own search
	},
	{
		name: "postgresql-doc", files: "postgresql-doc-*/html",
		main: func(n *html.Node) bool { return n.DataAtom == atom.Body },
		drop: func(n *html.Node) bool {
			return pages.Attr(n, "class") == "navheader" || pages.Attr(n, "class") == "navfooter"
		},
	},
	{
		name: "git-doc", files: "git-doc",
		main: func(n *html.Node) bool { return pages.Attr(n, "id") == "header" || pages.Attr(n, "id") == "content" },
		drop: func(n *html.Node) bool { return pages.Attr(n, "id") == "toc" },
	},
}

// siteBlock is a run of text without block boundaries.
type siteBlock struct {
	words   []string
	heading bool
}

// siteBlocks returns the text blocks in a page's main region.
func (s docSite) siteBlocks(doc *html.Node) []siteBlock {
	var blocks []siteBlock
	var run strings.Builder
	heading := false
	end := func() {
		if words := siteWords(run.String()); len(words) > 0 {
			blocks = append(blocks, siteBlock{words, heading})
		}
		run.Reset()
	}
	var walk func(n *html.Node, inside bool)
	walk = func(n *html.Node, inside bool) {
		if n.Type == html.TextNode && inside {
			run.WriteString(n.Data)
		}
		if n.Type == html.ElementNode {
			switch n.Data {
			case "script", "style", "head", "nav", "form", "button", "select", "svg", "template":
				return
			}
			if pages.Attr(n, "class") == "headerlink" || s.drop != nil && s.drop(n) {
				return
			}
		}
		inside = inside || n.Type == html.ElementNode && s.main(n)
		apart := n.Type == html.ElementNode && siteBlockElements[n.Data]
		if apart {
			end()
			heading = len(n.Data) == 2 && n.Data[0] == 'h' && n.Data != "hr"
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, inside)
		}
		if apart {
			end()
			heading = false
		}
	}
	walk(doc, false)
	end()
	return blocks
}

var siteBlockElements = wordset.Of(`h1 h2 h3 h4 h5 h6 p div section article li ul ol dl dt dd pre table caption tr td th blockquote br hr center figure
	figcaption body main header footer aside details summary`)

// siteWords returns a text's words, in lower case.
func siteWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !charset.WordRune(r) })
}

// siteText indexes a page's extracted text for searching.
type siteText struct {
	all   string
	grams map[[pages.Gram]string]bool
	words map[string]int
	total int
}

func newSiteText(text string) siteText {
	words := siteWords(text)
	t := siteText{all: " " + strings.Join(words, " ") + " ", grams: map[[pages.Gram]string]bool{}, words: map[string]int{}, total: len(words)}
	for i := range len(words) - pages.Gram + 1 {
		t.grams[[pages.Gram]string(words[i:i+pages.Gram])] = true
	}
	for _, w := range words {
		t.words[w]++
	}
	return t
}

// has reports whether a block was extracted completely, except for a few words such as a note's number.
func (t siteText) has(words []string) bool {
	if strings.Contains(t.all, " "+strings.Join(words, " ")+" ") {
		return true
	}
	if len(words) < 2*pages.Gram {
		return false
	}
	found, n := 0, len(words)-pages.Gram+1
	for i := range n {
		if t.grams[[pages.Gram]string(words[i:i+pages.Gram])] {
			found++
		}
	}
	return found*10 >= n*9
}

// f1 returns the F1 score of the extracted words against the main region's words.
func (t siteText) f1(blocks []siteBlock) float64 {
	want, total := map[string]int{}, 0
	for _, b := range blocks {
		for _, w := range b.words {
			want[w]++
			total++
		}
	}
	common := 0
	for w, n := range want {
		common += min(n, t.words[w])
	}
	if total+t.total == 0 {
		return 1
	}
	return 2 * float64(common) / float64(total+t.total)
}

// siteResult holds the measurements for one page.
type siteResult struct {
	page                    string
	blocks, lost            int
	headings, lostOfHeading int
	f1                      float64
	missing                 []string
}

// measurePageOf extracts a page and compares the result with its main region.
func (s docSite) measurePageOf(t *testing.T, path string) (siteResult, bool) {
	r := siteResult{page: path}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return r, false
	}
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return r, false
	}
	blocks := s.siteBlocks(doc)
	if len(blocks) == 0 {
		return r, false // a redirect or a frame
	}
	text := newSiteText("")
	read, err := extract.Parse(context.Background(), format.Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: filepath.Base(path), PlainRows: true}, format.Limits{CacheDir: extracttest.Compiled})
	if err != nil {
		t.Logf("%s: %v", path, err) // its blocks count as lost
	} else {
		var b strings.Builder
		for _, bl := range read.Blocks {
			b.WriteString(bl.Text + "\n")
		}
		text = newSiteText(b.String())
	}
	for _, b := range blocks {
		r.blocks++
		if b.heading {
			r.headings++
		}
		if text.has(b.words) {
			continue
		}
		r.lost++
		if b.heading {
			r.lostOfHeading++
		}
		r.missing = append(r.missing, strings.Join(b.words[:min(len(b.words), 12)], " "))
	}
	r.f1 = text.f1(blocks)
	return r, true
}

// TestDocumentationSitesAreReadWhole extracts the documentation sites in the TEST_DOC_SITES folder and compares each
// page with its main region. "make crawl-content" installs the sites.
func TestDocumentationSitesAreReadWhole(t *testing.T) {
	root := os.Getenv("TEST_DOC_SITES")
	if root == "" {
		t.Skip("TEST_DOC_SITES names no directory; make crawl-content runs this test")
	}
	var sampled []float64
	for _, site := range docSites {
		t.Run(site.name, func(t *testing.T) {
			pages := site.pages(t, root)
			results := site.measure(t, pages)
			blocks, lost, headings, lostOfHeadings := 0, 0, 0, 0
			shown := 0
			for _, r := range results {
				blocks, lost, headings, lostOfHeadings = blocks+r.blocks, lost+r.lost, headings+r.headings, lostOfHeadings+r.lostOfHeading
				for _, m := range r.missing {
					if shown++; shown <= 20 {
						t.Logf("%s lacks %q", r.page, m)
					}
				}
			}
			sample := everyNth(results, sampledPages/len(docSites))
			f1 := meanF1(sample)
			for _, r := range sample {
				sampled = append(sampled, r.f1)
			}
			t.Logf("%d pages: %d of %d blocks and %d of %d headings lost; token F1 of %d pages %.4f, of all %.4f",
				len(results), lost, blocks, lostOfHeadings, headings, len(sample), f1, meanF1(results))
			for name, share := range map[string]float64{"blocks": recallOf(blocks, lost), "headings": recallOf(headings, lostOfHeadings)} {
				if share < minBlockRecall {
					t.Errorf("%.4f of the %s were extracted, want at least %v", share, name, minBlockRecall)
				}
			}
		})
	}
	sum := 0.0
	for _, f := range sampled {
		sum += f
	}
	mean := sum / float64(max(1, len(sampled)))
	t.Logf("token F1 of %d pages: %.4f", len(sampled), mean)
	if mean < minTokenF1 || len(sampled) < sampledPages {
		t.Errorf("token F1 of %d pages is %.4f, want at least %v of %d", len(sampled), mean, minTokenF1, sampledPages)
	}
}

func recallOf(all, lost int) float64 { return float64(all-lost) / float64(max(1, all)) }

// pages returns the paths to a site's pages.
func (s docSite) pages(t *testing.T, root string) []string {
	folders, err := filepath.Glob(filepath.Join(root, s.files))
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	seen := map[string]bool{}
	for _, folder := range folders {
		folder, err := filepath.EvalSymlinks(folder) // packages contain links to other packages' pages
		if err != nil {
			t.Fatal(err)
		}
		if seen[folder] {
			continue
		}
		seen[folder] = true
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".html" {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(pages) < sampledPages {
		t.Fatalf("%d pages in %s, want at least %d", len(pages), filepath.Join(root, s.files), sampledPages)
	}
	slices.Sort(pages)
	return pages
}

// measure measures pages on all CPUs.
func (s docSite) measure(t *testing.T, pages []string) []siteResult {
	results := make([]siteResult, len(pages))
	measured := make([]bool, len(pages))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				results[i], measured[i] = s.measurePageOf(t, pages[i])
			}
		})
	}
	for i := range pages {
		next <- i
	}
	close(next)
	wg.Wait()
	var kept []siteResult
	for i, r := range results {
		if measured[i] {
			kept = append(kept, r)
		}
	}
	return kept
}

// everyNth picks `count` evenly spaced results.
func everyNth(results []siteResult, count int) []siteResult {
	chosen := make([]siteResult, 0, count)
	for i := range count {
		chosen = append(chosen, results[i*len(results)/count])
	}
	return chosen
}

func meanF1(results []siteResult) float64 {
	sum := 0.0
	for _, r := range results {
		sum += r.f1
	}
	return sum / float64(max(1, len(results)))
}

// TestTheRecallGateDetectsLosses tests the measurement itself, with extracted text that lacks a section and contains a
// menu.
func TestTheRecallGateDetectsLosses(t *testing.T) {
	t.Parallel()
	page := `<body><div class=menu>Home Download</div><div role=main><h1>Guide<a class=headerlink>#</a></h1><p>Open the <b>valve</b> first.</p>` +
		`<section><h2>Cookies</h2><pre>a = 1</pre></section></div></body>`
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	blocks := docSites[0].siteBlocks(doc)
	got := fmt.Sprint(blocks)
	if want := "[{[guide] true} {[open the valve first] false} {[cookies] true} {[a 1] false}]"; got != want {
		t.Fatalf("blocks %s, want %s", got, want)
	}
	text := newSiteText("Home Download Guide\nOpen the valve first.")
	if text.has(blocks[2].words) || !text.has(blocks[1].words) {
		t.Error("the gate does not tell what was extracted from what was lost")
	}
	if f1, want := text.f1(blocks), 2*5.0/(8+7); f1 < want-1e-9 || f1 > want+1e-9 {
		t.Errorf("token F1 %v, want %v", f1, want)
	}
}
