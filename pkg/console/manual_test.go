package console_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sluice/sluice/docs"
)

// reads opens a page outside the console and waits for it to load.
func (t *tab) reads(path string) {
	t.Helper()
	t.do("opening "+path, chromedp.Navigate(t.base+path))
	t.until(`document.readyState === 'complete' && document.querySelector('main h1')`)
}

// TestAFirstLoadIsSmall measures how much the service sends to a browser with an empty cache. Every tab also checks
// that nothing comes from other hosts.
func TestAFirstLoadIsSmall(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, load := range map[string]func(c *tab){
		"the console, signed out": func(c *tab) {
			c.at("#/")
			c.waitVisible("input[name=key]")
		},
		"the console, signed in": func(c *tab) {
			c.at("#/?key=" + testKey)
			c.waitVisible("ol.steps")
		},
		"the documentation":     func(c *tab) { c.reads("/docs") },
		"its longest page":      func(c *tab) { c.reads("/docs/cli") },
		"the API reference":     func(c *tab) { c.reads("/docs/api") },
		"the search in a page":  func(c *tab) { c.reads("/docs"); c.typeText("#query", "warranty"); c.waitVisible("#found li") },
		"a page with a picture": func(c *tab) { c.reads("/docs/architecture") },
	} {
		t.Run(name, func(t *testing.T) {
			c := open(&service{TB: t, base: s.base})
			load(c)
			sent := value[int](c, `performance.getEntries().reduce((sum, e) => sum + (e.transferSize ?? 0), 0)`)
			t.Logf("%d bytes in %d requests", sent, value[int](c, `performance.getEntries().filter(e => e.transferSize > 0).length`))
			if sent == 0 || sent > maxConsoleBytes {
				t.Errorf("a first load has %d bytes; %d are its limit", sent, maxConsoleBytes)
			}
		})
	}
}

// TestTheDocumentationIsReadByKeyboard reads pages without a mouse. The first Tab must offer to skip the navigation,
// the focus must always be visible, and no heading level may be skipped.
func TestTheDocumentationIsReadByKeyboard(t *testing.T) {
	t.Parallel()
	c := open(start(t))
	for _, path := range []string{"/docs", "/docs/configuration", "/docs/adr", "/docs/api"} {
		c.reads(path)
		c.keys(kb.Tab)
		if !value[bool](c, `document.activeElement.matches('.skip') && document.activeElement.getBoundingClientRect().left >= 0`) {
			t.Errorf("%s: the first Tab leads to %s", path, value[string](c, `document.activeElement.outerHTML.slice(0, 120)`))
		}
		for range 20 {
			c.keys(kb.Tab)
			if hidden := value[string](c, hiddenFocus); hidden != "" {
				t.Errorf("%s: the focus is not seen: %s", path, hidden)
			}
		}
		c.reads(path)
		c.keys(kb.Tab)
		c.keys("\r")
		c.until(`document.activeElement === document.querySelector('main')`)
		if wrong := value[string](c, headings); wrong != "" {
			t.Errorf("%s: %s", path, wrong)
		}
	}
	// The address's fragment might not be an element's id. The page must still be shown.
	for _, hash := range []string{"#x", "#1", "#a/b%zz", "#>", "#listDatastores"} {
		c.reads("/docs/api" + hash)
		if text := value[string](c, `document.querySelector('main').textContent`); !strings.Contains(text, "/datastores") {
			t.Errorf("/docs/api%s shows %.100q", hash, text)
		}
	}
	// The / key opens the search, and Enter opens the best result.
	c.reads("/docs")
	c.keys("/")
	c.until(`document.activeElement.id === 'query'`)
	value[bool](c, `(document.activeElement.value = '', true)`) // unlike a real key press, the driver's is also typed into the field
	c.keys("errors")
	c.waitVisible("#found a")
	c.keys("\r")
	c.until(`location.pathname === '/docs/errors'`)
	// The search also covers the body text.
	c.typeText("#query", "OPENAI_BASE_URL")
	c.until(`[...document.querySelectorAll('#found a mark')].some((e) => e.textContent === 'OPENAI_BASE_URL')`)
}

// hiddenFocus is a JavaScript expression that yields the focused element's HTML if its focus isn't visible, and ""
// otherwise.
const hiddenFocus = `(() => {
	const e = document.activeElement, style = getComputedStyle(e), {left, right, top, bottom} = e.getClientRects()[0];
	const within = (from, to, size) => (Math.max(from, 0) + Math.min(to, size)) / 2; // the middle of the part that is in the window
	const hit = document.elementFromPoint(within(left, right, innerWidth), within(top, bottom, innerHeight));
	const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 && (e.contains(hit) || hit?.contains(e));
	return seen || e === document.body ? '' : e.outerHTML.slice(0, 120) + ' under ' + hit?.outerHTML.slice(0, 80);
})()`

// headings is a JavaScript expression that describes the page's first wrong heading level, or "".
const headings = `(() => {
	const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((e) => Number(e.localName[1]));
	if (levels[0] !== 1 || levels.filter((l) => l === 1).length !== 1) return 'the headings begin with ' + levels.slice(0, 3);
	const jump = levels.findIndex((l, i) => i > 0 && l > levels[i - 1] + 1);
	return jump < 0 ? '' : document.querySelectorAll('h1, h2, h3, h4, h5, h6')[jump].textContent + ' is ' + (levels[jump] - levels[jump - 1]) + ' levels down';
})()`

// TestAxeFindsNothingInTheDocumentation checks every page under /docs, including the API reference, and the search
// results with axe, in light and dark mode and in wide and narrow windows.
func TestAxeFindsNothingInTheDocumentation(t *testing.T) {
	t.Parallel()
	path := os.Getenv(axeVariable)
	if path == "" {
		t.Skipf("%s is not set; make check-console sets it", axeVariable)
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t)
	places := []string{"/docs/api"}
	err = fs.WalkDir(docs.Files, ".", func(name string, _ fs.DirEntry, err error) error {
		if page, is := strings.CutSuffix(name, ".md"); is {
			places = append(places, strings.TrimSuffix("/docs/"+strings.TrimSuffix(page, "README"), "/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c := open(s)
	c.allow(string(axe))
	audited := 0
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			c.in(scheme, width)
			for _, place := range places {
				c.reads(place)
				if place == "/docs/api" {
					c.until(`document.querySelectorAll('section').length > 40`)
					value[bool](c, `(document.querySelectorAll('section:nth-of-type(9n) details:not([open])').forEach((e) => { e.open = true; e.className = 'opened' }), true)`)
					c.until(`[...document.querySelectorAll('.opened')].every((e) => e.querySelector('table, p'))`)
				}
				name := fmt.Sprintf("%s, %s, %d wide", place, scheme, width)
				c.audit(name)
				if wide := value[int](c, `document.documentElement.scrollWidth`); int64(wide) > width {
					t.Errorf("%s: it is %d wide", name, wide)
				}
				if wrong := value[string](c, headings); wrong != "" {
					t.Errorf("%s: %s", name, wrong)
				}
				audited++
			}
			c.reads("/docs")
			c.typeText("#query", "search")
			c.waitVisible("#found li")
			c.audit(fmt.Sprintf("the search, %s, %d wide", scheme, width))
		}
	}
	t.Logf("axe has looked at %d pages", audited)
	if audited < 4*50 {
		t.Errorf("only %d pages were looked at", audited)
	}
}
