package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/api"
	nearby "github.com/sluice/sluice/pkg/api/neighbours"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/retrieve"
)

type converter func(f nearby.File, content string) (*domain.Document, error)

func (c converter) Convert(_ context.Context, f nearby.File) (*domain.Document, error) {
	content, err := io.ReadAll(f.Content)
	if err != nil {
		return nil, err
	}
	return c(f, string(content))
}

func noText(nearby.File, string) (*domain.Document, error) {
	return nil, format.Errorf(format.NoText, "the file contains no text")
}

// lines turns each line into a page whose paragraphs are the line's words.
func lines(f nearby.File, content string) (*domain.Document, error) {
	if strings.HasPrefix(content, "fail ") {
		return nil, format.Errorf(format.Kind(strings.Fields(content)[1]), "the file is bad")
	}
	d := &domain.Document{
		Title: "Manual", MIMEType: "application/pdf", Language: "en", Pages: 1 + strings.Count(content, "\n"),
		Metadata: map[string]string{domain.MetaAuthor: "Ann Oake", domain.MetaCreated: "2026-05-04"},
	}
	if f.Declared == "text/plain" {
		d.Pages, d.MIMEType, d.Metadata = 0, "text/plain", nil
	}
	for i, line := range strings.Split(content, "\n") {
		for word := range strings.FieldsSeq(line) {
			b := domain.Block{Kind: domain.BlockParagraph, Text: word, Page: i + 1}
			if d.Pages == 0 {
				b.Page = 0
			}
			d.Blocks = append(d.Blocks, b)
		}
	}
	return d, nil
}

func newNeighbour(t *testing.T, adjust ...func(*api.Options, *api.Deps)) *service {
	t.Helper()
	return newService(t, append([]func(*api.Options, *api.Deps){func(o *api.Options, d *api.Deps) {
		o.Version, d.Converter = "1.2", converter(lines)
	}}, adjust...)...)
}

// put sends a file as the request's body.
func (s *service) put(path, content string, headers ...string) *response {
	s.Helper()
	return s.call("PUT", path, io.Reader(strings.NewReader(content)), append([]string{"Content-Type", "application/pdf"}, headers...)...)
}

// postFile sends a file in a form.
func (s *service) postFile(path, name, content string, headers ...string) *response {
	s.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(s.T, form.WriteField("note", "not the file"))
	part, err := form.CreateFormFile("upload-file", name)
	must(s.T, err)
	_, err = io.WriteString(part, content)
	must(s.T, err)
	must(s.T, form.Close())
	return s.call("POST", path, io.Reader(&body), append([]string{"Content-Type", form.FormDataContentType()}, headers...)...)
}

func TestTikaReturnsTextAndProperties(t *testing.T) {
	t.Parallel()
	s := newNeighbour(t)
	for name, a := range map[string]*response{
		"PUT as text":           s.put("/tika", "one two\nthree", "Accept", "text/plain"),
		"PUT":                   s.put("/tika", "one two\nthree"),
		"PUT, below /api":       s.put("/api/tika", "one two\nthree", "Accept", "*/*"),
		"a form":                s.postFile("/tika/form", "a.pdf", "one two\nthree"),
		"the text, not as JSON": s.put("/tika/text", "one two\nthree", "Accept", "text/plain"),
	} {
		if got := string(a.want(200).body); got != "one\n\ntwo\n\nthree\n" || a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %s %q", name, a.header.Get("Content-Type"), got)
		}
	}
	want := object{
		"Content-Type": "application/pdf", "Content-Length": "13", "X-TIKA:Parsed-By": []any{"sluice"}, "X-TIKA:content": "one\n\ntwo\n\nthree\n",
		"dc:title": "Manual", "dc:language": "en", "dc:creator": "Ann Oake", "dcterms:created": "2026-05-04T00:00:00Z", "xmpTPg:NPages": "2",
	}
	named := object{"resourceName": "Größe.pdf"}
	disposition := []string{"Content-Disposition", `attachment; filename="a.pdf"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.pdf`}
	for name, try := range map[string]struct {
		response *response
		name     object
	}{
		"PUT":                {s.put("/tika", "one two\nthree", "Accept", "application/json"), object{}},
		"the text":           {s.put("/tika/text", "one two\nthree"), object{}},
		"the text of a form": {s.postFile("/tika/form/text", `C:\files\Größe.pdf`, "one two\nthree", "Accept", "application/json"), named},
		"a name":             {s.put("/tika/text", "one two\nthree", disposition...), named},
	} {
		if diff := cmp.Diff(with(object{}, want, try.name), try.response.want(200).object()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, a := range map[string]*response{
		"/rmeta": s.put("/rmeta", "one two\nthree", disposition...), "/rmeta/text": s.put("/rmeta/text", "one two\nthree", append(disposition, "Accept", "application/json")...),
		"/rmeta/form/text": s.postFile("/rmeta/form/text", "Größe.pdf", "one two\nthree"),
	} {
		var list []object
		must(t, json.Unmarshal(a.want(200).body, &list))
		if diff := cmp.Diff([]object{with(object{}, want, named)}, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for path, text := range map[string]string{"/tika": "This is Sluice", "/version": "Sluice 1.2"} {
		if got := string(s.call("GET", path, nil).want(200).body); !strings.HasPrefix(got, text) {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestFilesThatCannotBeConvertedAreRejected(t *testing.T) {
	t.Parallel()
	s := newNeighbour(t, func(o *api.Options, _ *api.Deps) { o.MaxUploadBytes = 1000 })
	for kind, status := range map[format.Kind]int{
		format.Unsupported: 415, format.Encrypted: 422, format.Damaged: 422, format.NoText: 422, format.TooLarge: 413, format.Resources: 422,
	} {
		for _, path := range []string{"/tika", "/rmeta/text", "/process"} {
			p := s.put(path, "fail "+string(kind)).problem(status)
			if !strings.Contains(p.Detail, "the file is bad") || kind == format.NoText && !strings.HasPrefix(p.Detail, "No extractable text") {
				t.Errorf("%s, %s: %+v", path, kind, p)
			}
		}
	}
	s.put("/process", "").problem(400)
	s.put("/process", strings.Repeat("a", 1001)).problem(413)
	s.call("PUT", "/tika", io.MultiReader(strings.NewReader(strings.Repeat("a", 1001)))).problem(413) // of unknown length
	s.postFile("/tika/form", "a", strings.Repeat("a", 1001)).problem(413)
	s.postFile("/tika/form", "", "a").problem(400)
	s.call("POST", "/tika/form", "a").problem(400)
	s.put("/process", "a", "Content-Encoding", "gzip").problem(415)
	s.put("/tika", "a", "Accept", "text/html, application/xml").problem(415)
	s.as("").put("/tika", "a").problem(403)
	s.as("").put("/process", "a").problem(403)
	s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: s.newAgent()})).put("/tika", "a").problem(403)
}

// TestTikasClientsSendKeysInTheAddress sends keys like clients whose only setting is the server's address.
func TestTikasClientsSendKeysInTheAddress(t *testing.T) {
	t.Parallel()
	s := newNeighbour(t)
	basic := func(method, path, name, password string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader("one"))
		must(t, err)
		req.SetBasicAuth(name, password)
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		must(t, res.Body.Close())
		return res.StatusCode
	}
	for _, try := range []struct {
		path, name, password string
		status               int
	}{
		{"/tika", "key", s.key, 200}, {"/tika/text", s.key, "", 200}, {"/api/rmeta", "", s.key, 200}, {"/tika", "key", "sk_wrong", 403}, {"/process", "key", s.key, 403},
	} {
		if got := basic("PUT", try.path, try.name, try.password); got != try.status {
			t.Errorf("%s as %q: status %d, want %d", try.path, try.name, got, try.status)
		}
	}
	if got := basic("GET", "/agents", "key", s.key); got != 403 {
		t.Errorf("an endpoint that is not Tika's: status %d", got)
	}
}

func TestOpenWebUILoadsPages(t *testing.T) {
	t.Parallel()
	s := newNeighbour(t)
	var pages []object
	must(t, json.Unmarshal(s.put("/process", "one two\n\nthree", "X-Filename", "The%20pump%20%C3%9F.pdf").want(200).body, &pages))
	page := func(text string, n int) object {
		return object{"page_content": text, "metadata": map[string]any{
			"Content-Type": "application/pdf", "source": "The pump ß.pdf", "title": "Manual", "language": "en", "author": "Ann Oake", "creationdate": "2026-05-04",
			"page": float64(n - 1), "page_label": float64(n), "total_pages": 3.0,
		}}
	}
	if diff := cmp.Diff([]object{page("one\n\ntwo", 1), page("three", 3)}, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	whole := s.put("/process", "one two", "Content-Type", "text/plain").want(200).object()
	want := object{"page_content": "one\n\ntwo", "metadata": map[string]any{"Content-Type": "text/plain", "title": "Manual", "language": "en"}}
	if diff := cmp.Diff(want, whole); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// difyError checks that the response is an error in Dify's format and returns its code and message.
func (a *response) difyError(status int) (code float64, message string) {
	a.Helper()
	o := a.want(status).object()
	code, _ = o["error_code"].(float64)
	return code, o.text("error_msg")
}

func TestDifyRetrievesFragments(t *testing.T) {
	t.Parallel()
	s := newNeighbour(t)
	store := s.newDatastore()
	found := retrieve.Result{Fragments: []domain.Fragment{
		{Text: "Thirty months.", Score: 0.9, DatasourceID: "d1", DatasourceName: "Manual", Source: "manual.pdf#page=2", Page: 2, Metadata: map[string]any{"team": "ops"}},
		{Text: "Two weeks.", Score: 0.2, DatasourceID: "d2", Source: "https://example.com/returns"},
	}}
	var asked retrieve.Request
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		asked = r
		return found, nil
	}
	body := object{"knowledge_id": store, "query": "How long?", "retrieval_setting": object{"top_k": 2, "score_threshold": 0.0}}
	want := object{"records": []any{
		map[string]any{"content": "Thirty months.", "score": 0.9, "title": "Manual", "metadata": map[string]any{"datasource_id": "d1", "source": "manual.pdf#page=2", "page": 2.0, "team": "ops"}},
		map[string]any{"content": "Two weeks.", "score": 0.2, "title": "https://example.com/returns", "metadata": map[string]any{"datasource_id": "d2", "source": "https://example.com/returns"}},
	}}
	for _, path := range []string{"/retrieval", "/api/retrieval"} {
		if diff := cmp.Diff(want, s.call("POST", path, body).want(200).object()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	condition := func(name, operator string, value any) object {
		return object{"name": name, "comparison_operator": operator, "value": value}
	}
	filtered := with(object{}, body, object{"metadata_condition": object{"conditions": []any{condition("team", "is", "ops"), condition("year", "in", []any{2025, 2026})}}})
	s.call("POST", "/retrieval", filtered).want(200)
	where := `{"type":"and","filters":[{"type":"eq","key":"team","value":"ops"},{"type":"in","key":"year","value":[2025,2026]}]}`
	if got := asked.Where.String(); got != where {
		t.Errorf("filter %s, want %s", got, where)
	}
	body["retrieval_setting"] = object{"top_k": nil, "score_threshold": 0.5}
	if n := len(s.call("POST", "/retrieval", with(object{}, body, object{"knowledge_id": "vs_" + store})).want(200).object().list("records")); n != 1 {
		t.Errorf("%d records above the threshold", n)
	}
	if asked.TopK != retrieve.DefaultTopK || asked.Query != "How long?" || asked.WorkspaceID != s.ws || asked.Datastores[0].ID != store {
		t.Errorf("request %+v", asked)
	}
	found = retrieve.Result{}
	if diff := cmp.Diff(object{"records": []any{}}, s.call("POST", "/retrieval", body).want(200).object()); diff != "" {
		t.Errorf("nothing found (-want +got):\n%s", diff)
	}
}

func TestDifyGetsItsErrorCodes(t *testing.T) {
	t.Parallel()
	s := newNeighbour(t)
	store := s.newDatastore()
	body := object{"knowledge_id": store, "query": "How long?", "retrieval_setting": object{"top_k": 2, "score_threshold": 0.0}}
	for name, try := range map[string]struct {
		response *response
		status   int
		code     float64
		says     string
	}{
		"no key":            {s.as("").call("POST", "/retrieval", body), 403, 1001, "Authorization: Bearer"},
		"another scheme":    {s.as("").call("POST", "/retrieval", body, "Authorization", "Basic "+s.key), 403, 1001, "Bearer"},
		"a wrong key":       {s.as("sk_wrong").call("POST", "/retrieval", body), 403, 1002, "key"},
		"no datastore":      {s.call("POST", "/retrieval", with(object{}, body, object{"knowledge_id": unusedID})), 404, 2001, unusedID},
		"another workspace": {s.stranger().call("POST", "/retrieval", body), 404, 2001, store},
		"no query":          {s.call("POST", "/retrieval", with(object{}, body, object{"query": ""})), 400, 400, "query"},
		"too many":          {s.call("POST", "/retrieval", with(object{}, body, object{"retrieval_setting": object{"top_k": 101}})), 400, 400, "top_k"},
		"a threshold":       {s.call("POST", "/retrieval", with(object{}, body, object{"retrieval_setting": object{"score_threshold": 2}})), 400, 400, "score_threshold"},
		"an unknown operator": {s.call("POST", "/retrieval", with(object{}, body, object{"metadata_condition": object{"conditions": []any{
			object{"name": "team", "comparison_operator": "like", "value": "o"},
		}}})), 400, 400, "comparison_operator"},
		"an empty body": {s.call("POST", "/retrieval", nil), 400, 400, "knowledge_id"}, // sent by Dify to check the address and the key
	} {
		if code, message := try.response.difyError(try.status); code != try.code || !strings.Contains(message, try.says) {
			t.Errorf("%s: code %v, message %q", name, code, message)
		}
	}
}
