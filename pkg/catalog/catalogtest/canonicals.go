package catalogtest

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// textOf returns a text that has nothing in common with the text of another seed.
func textOf(seed string) string {
	return strings.Join(strings.Split(strings.Repeat(seed, 40), ""), seed+" ")
}

func testCanonicals(t *testing.T, open Open) {
	for name, order := range map[string][]string{"fetched first": {pageA, pageX}, "fetched last": {pageX, pageA}} {
		t.Run("a page that names one with a text that is not alike stays, the other "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			p := pages{
				pageA: {content: "a", text: textOf("a"), same: true},
				pageX: {content: "x", text: textOf("x"), same: true, canonical: pageA},
			}
			site := w.siteOf(p, order...)
			equal(t, map[string]bool{pageA: true, pageX: true}, w.kept(site, order...))
			equal(t, domain.StatusSynched, site.Status)
			w.again(site, complete, order...)
			fetches, ingests := w.play(p)
			equal(t, []int{2, 0}, []int{fetches, ingests})
			equal(t, map[string]bool{pageA: true, pageX: true}, w.kept(site, order...))
		})
	}
	t.Run("pages of a template that name one of them all stay", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{}
		for _, u := range []string{pageA, pageB, pageC} {
			p[u] = answer{content: u, text: textOf(u[len(u)-1:]), canonical: pageB}
		}
		site := w.siteOf(p, pageA, pageB, pageC)
		equal(t, map[string]bool{pageA: true, pageB: true, pageC: true}, w.kept(site, pageA, pageB, pageC))
	})
	t.Run("two pages that name each other both stay, if their texts are not alike", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{
			pageA: {content: "a", text: textOf("a"), canonical: pageB},
			pageB: {content: "b", text: textOf("b"), canonical: pageA},
		}
		site := w.siteOf(p, pageA, pageB)
		equal(t, map[string]bool{pageA: true, pageB: true}, w.kept(site, pageA, pageB))
	})
	for name, text := range map[string]func(string) string{"alike": func(string) string { return "" }, "not alike": textOf} {
		t.Run("pages that name each other in a circle end, with texts that are "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, open)
			circle := []string{pageA, pageB, pageC, pageX}
			p := pages{}
			for i, u := range circle {
				p[u] = answer{content: u, text: text(u[len(u)-1:]), canonical: circle[(i+1)%len(circle)]}
			}
			site := w.siteOf(p, circle...)
			for range 2 {
				stay := 0
				for _, has := range w.kept(site, circle...) {
					if has {
						stay++
					}
				}
				if stay == 0 || name == "not alike" && stay != len(circle) {
					t.Errorf("%d of %d pages stay", stay, len(circle))
				}
				w.again(site, complete, circle...)
				w.play(p)
			}
		})
	}
	t.Run("a page that was left out for the one it names comes back when their texts part", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "a"}, pageX: {content: "x", canonical: pageA}}
		site := w.siteOf(p, pageA, pageX)
		equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
		p[pageA] = answer{content: "a2", text: textOf("a")}
		w.again(site, partial, pageA)
		w.play(p)
		equal(t, map[string]bool{pageA: true, pageX: true}, w.kept(site, pageA, pageX))
		p[pageA] = answer{content: "a"}
		w.again(site, complete, pageA, pageX)
		w.play(p)
		equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
	})
	t.Run("pages of one text are duplicates whatever their bytes, and are not asked for twice when these change", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "1", hash: "text"}, pageX: {content: "2", hash: "text"}}
		site := w.siteOf(p, pageX, pageA)
		equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
		p[pageA], p[pageX] = answer{content: "3", hash: "text"}, answer{content: "4", hash: "text"}
		w.again(site, complete, pageA, pageX)
		fetches, _ := w.play(p)
		equal(t, 2, fetches)
		equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
		p[pageX] = answer{content: "5", hash: "other"}
		w.again(site, complete, pageA, pageX)
		w.play(p)
		equal(t, map[string]bool{pageA: true, pageX: true}, w.kept(site, pageA, pageX))
	})
	t.Run("a page that was fetched before texts were compared is known by its bytes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		p := pages{pageA: {content: "same"}}
		site := w.siteOf(p, pageA)
		p[pageX] = answer{content: "same", hash: "text"}
		w.again(site, partial, pageX)
		w.play(p)
		equal(t, map[string]bool{pageA: true, pageX: false}, w.kept(site, pageA, pageX))
	})
}
