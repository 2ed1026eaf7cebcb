package html_test

import "testing"

func TestPagersAreLeftOut(t *testing.T) {
	t.Parallel()
	link := func(label, title string) string {
		return `<a href="/x"><span><span>` + label + `</span><span>` + title + `</span></span></a>`
	}
	for name, tc := range map[string]struct{ end, want string }{
		"both":                       {`<div class=flex>` + link("Previous", "needle of old") + link("Next", "needle of new") + `</div>`, "-needle"},
		"one":                        {`<div>` + link("Next", "needle") + `</div>`, "-needle"},
		"before the last change":     {`<div>` + link("Next", "needle") + `</div><p>Last updated 3 months ago</p>`, "-needle"},
		"text that follows":          {`<div>` + link("Next", "needle") + `</div>` + prose(4, "mill"), "+needle"},
		"text beside the link":       {`<div>Read ` + link("Next", "needle") + ` before you start with the work on it.</div>`, "+needle"},
		"a label that is none":       {`<div>` + link("Next steps", "needle") + `</div>`, "+needle"},
		"links of which one is none": {`<div>` + link("Next", "needle") + link("Download", "a file") + `</div>`, "+needle"},
		"a list of three":            {`<div>` + link("Next", "needle") + link("Next", "b") + link("Next", "c") + `</div>`, "+needle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, "<body><main><h1>Guide</h1>"+prose(4, "wheel")+tc.end+"</main></body>", "+wheel", tc.want)
		})
	}
}

func TestTheTitleOfConfluenceIsKept(t *testing.T) {
	t.Parallel()
	page := `<body><div id="main"><div id="main-header"><div id="title-heading"><h1 id="title-text" class="with-breadcrumbs">
		<a href="/display/P/Needle">needle</a></h1></div></div><div id="content"><div id="main-content" class="wiki-content">
		<h1>Turning</h1>` + prose(4, "wheel") + `<h1>Stopping</h1>` + prose(4, "mill") + `</div></div></div></body>`
	wantText(t, page, "+needle", "+wheel", "+mill")
	// Unlike Confluence's title, an h1 with the site's name does not have the id title-text, so it is dropped.
	wantText(t, `<body><h1><a href="/">needle</a></h1><main><h1>Turning</h1>`+prose(4, "wheel")+`</main></body>`, "-needle", "+wheel")
}
