package api_test

import (
	"strings"
	"testing"
)

func TestAFormBodyIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const form = "multipart/form-data"
	for name, c := range map[string]struct {
		path, body, kind string
		words            []string
	}{
		"of curl's -d":              {"/datasources", "type=web_page&datastoreId=7", "application/x-www-form-urlencoded", []string{`is form-encoded, "type=web_page&datastoreId=7"; send a JSON object such as {`, "config", "curl -F datastoreId=ID -F file=@NAME"}},
		"with brackets":             {"/agents", "datastoreIds[]=7&name=a", "application/json", []string{`is form-encoded, "datastoreIds[]=7&name=a"; send a JSON object`}},
		"encoded names":             {"/agents", "tools%5B0%5D=7", "", []string{`is form-encoded, "tools%5B0%5D=7"`}},
		"a long one":                {"/agents", "name=" + strings.Repeat("ö", 500), "", []string{`is form-encoded, "name=öö`, "…"}},
		"a form with another type":  {"/datasources", "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--b--\r\n", "application/json", []string{"is multipart/form-data, but the Content-Type header is not"}},
		"a form where none is read": {"/agents", "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nx\r\n--b--\r\n", form + "; boundary=b", []string{"is multipart/form-data, which this endpoint does not accept; send a JSON object"}},
		"a PDF as it stands":        {"/datasources", "%PDF-1.7\n", "application/pdf", []string{`is a plain file that begins with "%PDF-1.7\n"`, "curl -F"}},
		"a page as it stands":       {"/datasources", "<!DOCTYPE html>", "text/html", []string{"is a plain file", "curl -F"}},
		"bytes as they stand":       {"/datasources", "\x01\x00\x02a", "application/octet-stream", []string{"is a plain file", "curl -F"}},
		"no form, and no JSON":      {"/datasources", "hello = there", "", []string{"is not valid JSON at line 1"}},
		"JSON that is cut":          {"/datasources", `{"a=": `, "", []string{"is not valid JSON at line 1"}},
	} {
		got := s.call("POST", c.path, c.body, "Content-Type", c.kind).fault("body")
		for _, words := range c.words {
			if !strings.Contains(got, words) {
				t.Errorf("%s: %q does not say %q", name, got, words)
			}
		}
	}
	if got := s.call("POST", "/v1/chat/completions", "model=x").openAIError(400); !strings.Contains(got.Message, "is form-encoded") {
		t.Errorf("got %+v", got)
	}
}

func TestMetadataOfAFormMustBeJSON(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	for text, words := range map[string]string{
		"team=ops":                       `is "team=ops"; it must be a JSON object: {"team":"ops"}`,
		"team = ops & supply, year=2026": `is "team = ops & supply, year=2026"; it must be a JSON object, such as {"team": "ops"}`,
		"team: ops":                      `is "team: ops"; it must be a JSON object, such as {"team": "ops"}`,
		"[1]":                            `is an array; it must be a JSON object, such as {"team": "ops"}`,
		`{"team": ops}`:                  `is not valid JSON at line 1, column 10: invalid character 'o' looking for beginning of value`,
		"team=ops,year=2026":             `is "team=ops,year=2026"; it must be a JSON object: {"team":"ops","year":"2026"}`,
		"team=ops&größe=":                `is "team=ops&größe="; it must be a JSON object: {"größe":"","team":"ops"}`,
		`"team"`:                         `is "team"; it must be a JSON object, such as {"team": "ops"}`,
	} {
		if got := s.upload(part{name: "datastoreId", text: store}, part{name: "metadata", text: text}, part{"file", "a.txt", "text"}).fault("metadata"); got != words {
			t.Errorf("%s: got %q, want %q", text, got, words)
		}
	}
	for _, text := range []string{`{"formula": "a=b"}`, "null", ""} {
		s.upload(part{name: "datastoreId", text: store}, part{name: "metadata", text: text}, part{"file", "a.txt", "text"}).want(201)
	}
	for field, words := range map[string]string{
		"metadata[team]":    `is unknown; send a single metadata field with a JSON object: {"team": "ops"}`,
		"metadata.team":     `is unknown; send a single metadata field with a JSON object: {"team": "ops"}`,
		"config":            "is not allowed in a form; send custom_id and metadata as separate fields",
		"config[custom_id]": "is not allowed in a form; send custom_id and metadata as separate fields",
	} {
		if got := s.upload(part{name: "datastoreId", text: store}, part{name: field, text: "ops"}, part{"file", "a.txt", "text"}).fault(field); got != words {
			t.Errorf("%s: got %q, want %q", field, got, words)
		}
	}
}

func TestAMisplacedAddressIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	const way = `is "https://a.example/p", which is ignored here; send the address as config.source_url: {"config": {"source_url": "https://…"}}`
	for field, body := range map[string]object{
		"url":         {"type": "web_page", "url": "https://a.example/p"},
		"uri":         {"type": "web_site", "uri": "https://a.example/p", "config": object{"max_pages": 5}},
		"link":        {"type": "web_page", "link": "https://a.example/p", "config": object{}},
		"config.url":  {"type": "web_page", "config": object{"url": "https://a.example/p"}},
		"config.link": {"type": "web_page", "config": object{"link": "https://a.example/p", "source_url": "https://a.example/q"}},
	} {
		a := s.call("POST", "/datasources", with(object{"datastoreId": store}, body))
		if got := a.fault(field); got != way || len(a.problem(400).Errors) != 1 {
			t.Errorf("%s: %s", field, a.body)
		}
	}
	if got := s.call("POST", "/datasources", object{"datastoreId": store, "type": "text", "config": object{"text": "a", "url": "https://a.example/p"}}).fault("config.url"); got != way {
		t.Errorf("of a text: %q", got)
	}
	if got := s.call("POST", "/datasources/plan", object{"config": object{"url": "https://a.example/p"}}).fault("config.url"); got != way {
		t.Errorf("of a plan: %q", got)
	}
	// An address field meant for another service is ignored if config contains an address.
	s.call("POST", "/datasources", object{"datastoreId": store, "type": "web_page", "url": "x", "config": object{"source_url": "https://a.example/p"}}).want(201)
	s.call("POST", "/datasources", object{"datastoreId": store, "type": "text", "url": "x", "config": object{"text": "a"}}).want(201)
}

func TestACustomIDIsAcceptedInEveryPosition(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	customID := func(id string) string {
		t.Helper()
		return s.call("GET", "/datasources/"+id, nil).want(200).object().text("customId")
	}
	text := func(fields object) object { return with(object{"datastoreId": store, "type": "text"}, fields) }
	for want, body := range map[string]object{
		"beside":   {"custom_id": "beside", "config": object{"text": "a"}},
		"config":   {"config": object{"text": "a", "custom_id": "config"}},
		"metadata": {"config": object{"text": "a"}, "metadata": object{"custom_id": "metadata"}},
		"all":      {"custom_id": "all", "config": object{"text": "a", "custom_id": "all"}, "metadata": object{"custom_id": "all"}},
		"":         {"config": object{"text": "a"}, "metadata": object{"custom_id": 7}},
	} {
		if got := customID(s.call("POST", "/datasources", text(body)).want(201).object().id()); got != want {
			t.Errorf("%v: %q", body, got)
		}
	}
	for want, parts := range map[string][]part{
		"field": {{name: "custom_id", text: "field"}}, "in metadata": {{name: "metadata", text: `{"custom_id": "in metadata"}`}},
	} {
		a := s.upload(append(parts, part{name: "datastoreId", text: store}, part{"file", "a.txt", "text"})...).want(201)
		if got := customID(a.object().id()); got != want {
			t.Errorf("of a form: %q, want %q", got, want)
		}
	}
	upsert := func(document object) string {
		t.Helper()
		ids := s.call("POST", "/datastores/upsert/"+store, object{"documents": []any{with(object{"text": "a"}, document)}}).want(200).object().list("ids")
		return ids[0].(string)
	}
	first := upsert(object{"custom_id": "doc"})
	for _, document := range []object{{"metadata": object{"custom_id": "doc"}}, {"custom_id": "doc", "metadata": object{"team": "ops"}}, {"custom_id": "doc", "metadata": object{"custom_id": "doc"}}} {
		if got := upsert(document); got != first || customID(got) != "doc" {
			t.Errorf("%v makes another datasource", document)
		}
	}
	two := s.call("POST", "/datastores/upsert/"+store, object{"documents": []any{object{"text": "a", "custom_id": "x"}, object{"text": "b", "metadata": object{"custom_id": "x"}}}}).want(200).object().list("ids")
	if two[0] != two[1] {
		t.Errorf("the same id in two fields created two datasources: %v", two)
	}
	s.call("POST", "/datastores/update/"+store, object{"id": first, "text": "b", "custom_id": "renamed"}).want(200)
	if got := customID(first); got != "renamed" {
		t.Errorf("after an update: %q", got)
	}

	const differs = `is "b", but custom_id is "a"; send only one of them`
	for field, body := range map[string]object{
		"config.custom_id":   {"custom_id": "a", "config": object{"text": "t", "custom_id": "b"}},
		"metadata.custom_id": {"custom_id": "a", "config": object{"text": "t"}, "metadata": object{"custom_id": "b"}},
	} {
		if got := s.call("POST", "/datasources", text(body)).fault(field); got != differs {
			t.Errorf("%s: %q", field, got)
		}
	}
	if got := s.upload(part{name: "custom_id", text: "a"}, part{name: "metadata", text: `{"custom_id": "b"}`}, part{name: "datastoreId", text: store}, part{"file", "a.txt", "text"}).fault("metadata.custom_id"); got != differs {
		t.Errorf("of a form: %q", got)
	}
	documents := object{"documents": []any{object{"text": "a", "custom_id": "a", "metadata": object{"custom_id": "b"}}}}
	if got := s.call("POST", "/datastores/upsert/"+store, documents).fault("documents[0].metadata.custom_id"); got != differs {
		t.Errorf("of an upsert: %q", got)
	}
	if got := s.call("POST", "/datastores/update/"+store, object{"id": first, "text": "b", "custom_id": "a", "metadata": object{"custom_id": "b"}}).fault("metadata.custom_id"); got != differs {
		t.Errorf("of an update: %q", got)
	}
}

func TestAnEmptyAddressIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newDatastore()
	for name, c := range map[string]struct {
		kind   string
		config object
		fault  string // expected fault for config.source_url; "" means none
	}{
		"a site with a sitemap": {"web_site", object{"sitemap": "https://a.example/sitemap.xml", "source_url": ""}, ""},
		"a site with a root":    {"web_site", object{"sitemap": " ", "source_url": "https://a.example/"}, ""},
		"a page":                {"web_page", object{"source_url": "https://a.example/", "sitemap": ""}, ""},
		"a page without one":    {"web_page", object{"source_url": ""}, "is required for a web_page; send the page's address"},
		"a site without one":    {"web_site", object{"source_url": "", "sitemap": ""}, "is required for a web_site, unless config.sitemap is given"},
	} {
		a := s.call("POST", "/datasources", object{"datastoreId": store, "type": c.kind, "config": c.config})
		if c.fault == "" {
			a.want(201)
		} else if got := a.fault("config.source_url"); got != c.fault {
			t.Errorf("%s: got %q, want %q", name, got, c.fault)
		}
	}
}
