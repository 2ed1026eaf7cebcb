package domain

import "testing"

func TestSettlePages(t *testing.T) {
	t.Parallel()
	site := func() Datasource {
		return Datasource{Type: TypeWebSite, Status: StatusRunning, Progress: Progress{Stage: "crawling"}, Warnings: []string{"2 addresses left out"}}
	}
	t.Run("all pages read", func(t *testing.T) {
		t.Parallel()
		d := site()
		equal(t, true, d.SettlePages(SiteProgress{Discovered: 4}, "", at))
		equal(t, StatusSynched, d.Status)
		equal(t, at, *d.LastSynch)
		equal(t, []string{"2 addresses left out"}, d.Warnings)
		equal(t, false, d.SettlePages(SiteProgress{Discovered: 4}, "", at))
	})
	t.Run("some pages failed, later fewer, then none", func(t *testing.T) {
		t.Parallel()
		d := site()
		d.SettlePages(SiteProgress{Discovered: 4, Failed: 2}, "404", at)
		equal(t, StatusSynched, d.Status)
		equal(t, []string{"2 addresses left out", "2 of 4 pages could not be read; each shows its error"}, d.Warnings)
		d.SettlePages(SiteProgress{Discovered: 4, Failed: 1}, "404", at)
		equal(t, []string{"2 addresses left out", "1 of 4 pages could not be read; each shows its error"}, d.Warnings)
		d.SettlePages(SiteProgress{Discovered: 4}, "", at)
		equal(t, []string{"2 addresses left out"}, d.Warnings)
	})
	t.Run("no page could be read", func(t *testing.T) {
		t.Parallel()
		d := site()
		d.SettlePages(SiteProgress{Discovered: 1, Failed: 1}, "http://x/ does not exist", at)
		equal(t, StatusError, d.Status)
		equal(t, "The site's only page could not be read: http://x/ does not exist", d.Error)
	})
	t.Run("patterns that leave nothing but the root are told, until they take more", func(t *testing.T) {
		t.Parallel()
		d := site()
		d.FollowLinks, d.Config.Include = true, []string{"/nothing/"}
		equal(t, true, d.SettlePages(SiteProgress{Discovered: 1}, "", at))
		equal(t, StatusSynched, d.Status)
		equal(t, []string{"2 addresses left out", onlyRootWarning}, d.Warnings)
		equal(t, false, d.SettlePages(SiteProgress{Discovered: 1}, "", at))
		d.SettlePages(SiteProgress{Discovered: 2}, "", at)
		equal(t, []string{"2 addresses left out"}, d.Warnings)
		d.Config.Include = nil
		d.SettlePages(SiteProgress{Discovered: 1}, "", at)
		equal(t, []string{"2 addresses left out"}, d.Warnings)
	})
	t.Run("there are no pages", func(t *testing.T) {
		t.Parallel()
		d := site()
		d.SettlePages(SiteProgress{}, "", at)
		equal(t, StatusError, d.Status)
	})
}
