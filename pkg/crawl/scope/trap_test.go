package scope

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
)

func TestTraps_are_recognised_by_the_address(t *testing.T) {
	t.Parallel()
	sc, err := New(domain.SiteScope{Root: "https://e.com/"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		ref  string
		want Refusal
	}{
		"a group of segments twice in a row":    {"/x/a/b/a/b/", RefusedTrap},
		"one segment three times in a row":      {"/a/a/a/", RefusedTrap},
		"one segment twice in a row":            {"/org/foo/foo/readme", ""},
		"one segment twice, not in a row":       {"/de/shop/de/", ""},
		"numbers in a row":                      {"/volume/1/1/1", ""},
		"a year that has yet to come for long":  {"/calendar/9999/01", RefusedTrap},
		"such a year in the query":              {"/c?year=2940&month=2", RefusedTrap},
		"a day of such a year":                  {"/kalender?date=2940-02-11", RefusedTrap},
		"the page of an article":                {"/articles/4521/2", ""},
		"the page of an event":                  {"/events/4521/2", ""},
		"a part number":                         {"/parts/5520-11", ""},
		"a part number in the query":            {"/parts?nr=5520-11", ""},
		"a section of a section":                {"/spec/1/1/1/1/1", ""},
		"a word four times":                     {"/a/b/a/c/a/d/a", RefusedTrap},
		"a year long gone":                      {"/gazette/1850/03/12", ""},
		"a number that looks like a year":       {"/part/9999", ""},
		"a month by name, of such a year":       {"/calendar/9999/november", RefusedTrap},
		"a week of such a year":                 {"/calendar/9999-W12", RefusedTrap},
		"an event in a category":                {"/events/12/4521", ""},
		"three parameters that were found once": {"/c?a=1&b=2&c=3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, why := sc.Resolve(weburl.NewBase("https://e.com/"), tc.ref, 1); why != tc.want {
				t.Errorf("got %q, %q; want %q", got, why, tc.want)
			}
		})
	}
}

func TestTraps_are_recognised_by_the_linking_page(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		page, ref string
		want      Refusal
	}{
		"a calendar's next month":                  {"/calendar/2026/11", "/calendar/2026/12", RefusedTrap},
		"a calendar's previous month":              {"/calendar/2026/11", "/calendar/2026/10", RefusedTrap},
		"over the turn of the year":                {"/calendar/2026/12/", "/calendar/2027/1/", RefusedTrap},
		"a calendar's day":                         {"/calendar/2026/11", "/calendar/2026/11/05", ""},
		"a calendar's next day":                    {"/calendar/2026/11/30", "/calendar/2026/12/01", RefusedTrap},
		"a calendar in the query":                  {"/kalender?year=2026&month=11", "/kalender?year=2026&month=12", RefusedTrap},
		"an archive in the query":                  {"/news?year=2026&month=1", "/news?year=2026&month=2", ""},
		"a calendar's view in the query":           {"/x?view=month&year=2026&month=1", "/x?view=month&year=2026&month=2", RefusedTrap},
		"a part number of the next year":           {"/parts/2027-1", "/parts/2027-2", ""},
		"a calendar with dates":                    {"/agenda?date=2026-11-05", "/agenda?date=2026-11-04", RefusedTrap},
		"a turn by a parameter":                    {"/calendar/2026/11", "/calendar/2026/11?next", RefusedTrap},
		"a turn by the value of one":               {"/rooms/2026/11", "/rooms/2026/11?go=next", RefusedTrap},
		"an archive, backwards":                    {"/notes/2026/05/", "/notes/2026/04/", ""},
		"an archive, forwards":                     {"/notes/2026/05/", "/notes/2026/06/", ""},
		"an archive, into the future":              {"/notes/2026/12/", "/notes/2027/2/", RefusedTrap},
		"an archive, days into the future":         {"/notes/2027-01-06", "/notes/2027-01-07", RefusedTrap},
		"an archive, ten years on":                 {"/notes/2026/05/", "/notes/2036/05/", RefusedTrap},
		"bookings of the next day":                 {"/bookings/2026-11-05", "/bookings/2026-11-06", RefusedTrap},
		"the next chapter of a numbered document":  {"/doc/1234/1", "/doc/1234/2", ""},
		"the same for a number like a year":        {"/doc/2060/1", "/doc/2060/2", ""},
		"the next document":                        {"/doc/1234/12", "/doc/1235/1", ""},
		"the next issue of a journal":              {"/issues/2024/01", "/issues/2024/02", ""},
		"the first issue of the next year":         {"/issues/2024/12", "/issues/2025/01", ""},
		"the next issue, with a dash":              {"/issues/2024-01", "/issues/2024-02", ""},
		"the next article of an issue":             {"/journal/2024/1/3", "/journal/2024/1/4", ""},
		"the next page of an article":              {"/articles/4521/1", "/articles/4521/2", ""},
		"the next page of an event":                {"/events/4521/1", "/events/4521/2", ""},
		"the next part number":                     {"/parts/5520-11", "/parts/5520-12", ""},
		"a part number like a year":                {"/parts/2044-11", "/parts/2044-12", ""},
		"a law's next section":                     {"/act/1987/4/1", "/act/1987/4/2", ""},
		"the next version":                         {"/release/2024-3", "/release/2024-4", ""},
		"a calendar's next month, by name":         {"/calendar/2026/november", "/calendar/2026/december", RefusedTrap},
		"a calendar's previous month, by name":     {"/Kalender/2026/Dezember", "/Kalender/2026/November", RefusedTrap},
		"a calendar's next day, by name":           {"/agenda/2026/oct/31", "/agenda/2026/nov/01", RefusedTrap},
		"a month before its year":                  {"/calendar/october/2026", "/calendar/november/2026", RefusedTrap},
		"the same with a dash":                     {"/calendar/october-2026", "/calendar/november-2026", RefusedTrap},
		"a month by name in the query":             {"/kalender?year=2026&month=mai", "/kalender?year=2026&month=juni", RefusedTrap},
		"numbers with the year last":               {"/calendar/11/2026", "/calendar/12/2026", RefusedTrap},
		"the same with dashes":                     {"/calendar/12-2026", "/calendar/01-2027", RefusedTrap},
		"a calendar's next week":                   {"/calendar/2026-W48", "/calendar/2026-W49", RefusedTrap},
		"a calendar's next week, in the path":      {"/kalender/2026/kw52", "/kalender/2027/kw1", RefusedTrap},
		"an archive by name, backwards":            {"/notes/2026/may/", "/notes/2026/april/", ""},
		"an archive by name, forwards":             {"/notes/2026/august/", "/notes/2026/october/", ""},
		"an archive by name, into the future":      {"/notes/2026/december/", "/notes/2027/february/", RefusedTrap},
		"an archive of weeks":                      {"/charts/2026-W40", "/charts/2026-W39", ""},
		"an archive of weeks, into the future":     {"/charts/2027-W1", "/charts/2027-W2", RefusedTrap},
		"the next event of a category":             {"/events/12/2026", "/events/12/2027", ""},
		"the next document of a folder":            {"/doc/11/2026", "/doc/12/2027", ""},
		"a month's article":                        {"/calendar/2026/november", "/calendar/2026/november/a-concert", ""},
		"names that are no months":                 {"/people/2026/april-jones", "/people/2026/may-smith", ""},
		"a name beside a year":                     {"/calendar/2026/november", "/calendar/2026/archive", ""},
		"an archive, from elsewhere":               {"/notes/", "/notes/2026/06/", ""},
		"an article of an archive":                 {"/notes/2026/05/", "/notes/2026/05/12/a-title", ""},
		"the next article":                         {"/notes/2026/05/12/a-title", "/notes/2026/05/13/other-title", ""},
		"another archive":                          {"/notes/2026/05/", "/films/2026/06/", ""},
		"the page itself":                          {"/calendar/2026/11", "/calendar/2026/11#top", ""},
		"the second property":                      {"/shop/?colour=red", "/shop/?colour=red&size=m", ""},
		"the third property":                       {"/shop/?colour=red&size=m", "/shop/?colour=red&size=m&brand=a", RefusedTrap},
		"the third property, put first":            {"/shop/?colour=red&size=m", "/shop/?brand=a&colour=red&size=m", RefusedTrap},
		"another value of a property":              {"/shop/?colour=red&size=m", "/shop/?colour=blue&size=m", ""},
		"the next page of what has been narrowed":  {"/shop/?colour=red&size=m", "/shop/?colour=red&size=m&page=2", ""},
		"three parameters elsewhere":               {"/shop/?colour=red&size=m", "/find?colour=red&size=m&brand=a", ""},
		"a script's fourth argument":               {"/index.php?module=a&action=b&id=1", "/index.php?module=a&action=b&id=1&lang=de", ""},
		"a script's fifth argument":                {"/index.php?a=1&b=2&c=3&d=4", "/index.php?a=1&b=2&c=3&d=4&e=5", RefusedTrap},
		"the same of a site that has but one page": {"/?a=1&b=2", "/?a=1&b=2&c=3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc, err := New(domain.SiteScope{Root: "https://e.com/"})
			if err != nil {
				t.Fatal(err)
			}
			page, err := weburl.Parse("https://www.e.com" + tc.page)
			if err != nil {
				t.Fatal(err)
			}
			sc.SetPage(page)
			sc.Now = time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
			if got, why := sc.Resolve(weburl.NewBase(page.String()), tc.ref, 1); why != tc.want {
				t.Errorf("got %q, %q; want %q", got, why, tc.want)
			}
		})
	}
}

func TestScope_goes_where_the_root_has_moved(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		root, moved, ref string
		want             Refusal
	}{
		"another path":                      {"https://e.com/docs", "https://e.com/manual/v2/", "/manual/v2/page", ""},
		"beside that":                       {"https://e.com/docs", "https://e.com/manual/v2/", "/blog/page", RefusedPath},
		"the old path too":                  {"https://e.com/docs", "https://e.com/manual/v2/", "/docs/page", ""},
		"another host":                      {"https://e.com/", "https://f.org/en/", "https://f.org/de/", ""},
		"another host that has other users": {"https://e.com/blog", "https://f.org/@e", "https://f.org/@x/page", RefusedPath},
		"its own part there":                {"https://e.com/blog", "https://f.org/@e", "https://f.org/@e/page", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc, err := New(domain.SiteScope{Root: tc.root})
			if err != nil {
				t.Fatal(err)
			}
			moved, err := weburl.Parse(tc.moved)
			if err != nil {
				t.Fatal(err)
			}
			sc.Add(moved)
			if got, why := sc.Resolve(weburl.NewBase(tc.moved), tc.ref, 1); why != tc.want {
				t.Errorf("got %q, %q; want %q", got, why, tc.want)
			}
		})
	}
}
