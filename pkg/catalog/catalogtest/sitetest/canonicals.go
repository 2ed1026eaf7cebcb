package sitetest

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// textOf returns text for a seed. Texts for different seeds have no words in common.
func textOf(seed string) string {
	return strings.Join(strings.Split(strings.Repeat(seed, 40), ""), seed+" ")
}

func testCanonicals(t *testing.T, open world.Open) {
	for name, order := range map[string][]string{"fetched first": {world.PageA, pageX}, "fetched last": {pageX, world.PageA}} {
		world.Run(t, open, "a page that names one with a text that is not alike stays, the other "+name, func(t *testing.T, w *world.World) {
			p := world.Pages{
				world.PageA: {Content: "a", Text: textOf("a"), Same: true},
				pageX:       {Content: "x", Text: textOf("x"), Same: true, Canonical: world.PageA},
			}
			site := siteOf(w, p, order...)
			world.Equal(t, map[string]bool{world.PageA: true, pageX: true}, activePages(w, site, order...))
			world.Equal(t, domain.StatusSynched, site.Status)
			crawlAgain(w, site, complete, order...)
			fetches, ingests := w.RunWorkers(p)
			world.Equal(t, []int{2, 0}, []int{fetches, ingests})
			world.Equal(t, map[string]bool{world.PageA: true, pageX: true}, activePages(w, site, order...))
		})
	}
	world.Run(t, open, "pages of a template that name one of them all stay", func(t *testing.T, w *world.World) {
		p := world.Pages{}
		for _, u := range []string{world.PageA, world.PageB, pageC} {
			p[u] = world.Answer{Content: u, Text: textOf(u[len(u)-1:]), Canonical: world.PageB}
		}
		site := siteOf(w, p, world.PageA, world.PageB, pageC)
		world.Equal(t, map[string]bool{world.PageA: true, world.PageB: true, pageC: true}, activePages(w, site, world.PageA, world.PageB, pageC))
	})
	world.Run(t, open, "two pages that name each other both stay, if their texts are not alike", func(t *testing.T, w *world.World) {
		p := world.Pages{
			world.PageA: {Content: "a", Text: textOf("a"), Canonical: world.PageB},
			world.PageB: {Content: "b", Text: textOf("b"), Canonical: world.PageA},
		}
		site := siteOf(w, p, world.PageA, world.PageB)
		world.Equal(t, map[string]bool{world.PageA: true, world.PageB: true}, activePages(w, site, world.PageA, world.PageB))
	})
	for name, text := range map[string]func(string) string{"alike": func(string) string { return "" }, "not alike": textOf} {
		world.Run(t, open, "pages that name each other in a circle end, with texts that are "+name, func(t *testing.T, w *world.World) {
			circle := []string{world.PageA, world.PageB, pageC, pageX}
			p := world.Pages{}
			for i, u := range circle {
				p[u] = world.Answer{Content: u, Text: text(u[len(u)-1:]), Canonical: circle[(i+1)%len(circle)]}
			}
			site := siteOf(w, p, circle...)
			for range 2 {
				stay := 0
				for _, has := range activePages(w, site, circle...) {
					if has {
						stay++
					}
				}
				if stay == 0 || name == "not alike" && stay != len(circle) {
					t.Errorf("%d of %d pages stay", stay, len(circle))
				}
				crawlAgain(w, site, complete, circle...)
				w.RunWorkers(p)
			}
		})
	}
	world.Run(t, open, "a page that was left out for the one it names comes back when their texts part", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "a"}, pageX: {Content: "x", Canonical: world.PageA}}
		site := siteOf(w, p, world.PageA, pageX)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
		p[world.PageA] = world.Answer{Content: "a2", Text: textOf("a")}
		crawlAgain(w, site, partial, world.PageA)
		w.RunWorkers(p)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: true}, activePages(w, site, world.PageA, pageX))
		p[world.PageA] = world.Answer{Content: "a"}
		crawlAgain(w, site, complete, world.PageA, pageX)
		w.RunWorkers(p)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
	})
	world.Run(t, open, "pages of one text are duplicates whatever their bytes, and are not asked for twice when these change", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "1", Hash: "text"}, pageX: {Content: "2", Hash: "text"}}
		site := siteOf(w, p, pageX, world.PageA)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
		p[world.PageA], p[pageX] = world.Answer{Content: "3", Hash: "text"}, world.Answer{Content: "4", Hash: "text"}
		crawlAgain(w, site, complete, world.PageA, pageX)
		fetches, _ := w.RunWorkers(p)
		world.Equal(t, 2, fetches)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
		p[pageX] = world.Answer{Content: "5", Hash: "other"}
		crawlAgain(w, site, complete, world.PageA, pageX)
		w.RunWorkers(p)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: true}, activePages(w, site, world.PageA, pageX))
	})
	world.Run(t, open, "a page that was fetched before texts were compared is known by its bytes", func(t *testing.T, w *world.World) {
		p := world.Pages{world.PageA: {Content: "same"}}
		site := siteOf(w, p, world.PageA)
		p[pageX] = world.Answer{Content: "same", Hash: "text"}
		crawlAgain(w, site, partial, pageX)
		w.RunWorkers(p)
		world.Equal(t, map[string]bool{world.PageA: true, pageX: false}, activePages(w, site, world.PageA, pageX))
	})
}
