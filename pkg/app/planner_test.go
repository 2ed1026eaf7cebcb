package app

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice/sluice/testdata/site"
)

// TestAPlanIsMadeByTheCrawler requests a site's plan from a complete service. The plan must follow the crawler's rules
// and stay within the site's scope.
func TestAPlanIsMadeByTheCrawler(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(site.Handler())
	t.Cleanup(pages.Close)
	body := map[string]any{"config": map[string]any{"source_url": pages.URL + "/", "max_pages": 3}}

	guarded := newProgram(t)
	guarded.start()
	if err := guarded.post("/datasources/plan", body, nil); !refusedWith(err, 400) || !strings.Contains(err.Error(), "SLUICE_CRAWL_ALLOW") {
		t.Errorf("a site on this machine is planned with %v", err)
	}

	open := newProgram(t, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true")
	open.start()
	var plan struct {
		Root      string
		Cut       bool
		Addresses []struct{ URL, Decision string }
		Decisions map[string]int
	}
	open.must(open.post("/datasources/plan", body, &plan))
	if taken := plan.Decisions["page"] + plan.Decisions["listed"]; plan.Root != pages.URL+"/" || !plan.Cut || taken == 0 || taken > 3 {
		t.Errorf("the plan is %+v", plan)
	}
	store := open.newDatastore()
	if all, err := open.sources(store, ""); err != nil || len(all) != 0 {
		t.Errorf("a plan keeps %v, %v", all, err)
	}
}
