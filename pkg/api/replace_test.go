package api_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// zipText returns a ZIP archive with one file.
func zipText(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	must(t, err)
	_, err = io.WriteString(w, text)
	must(t, err)
	must(t, z.Close())
	return b.String()
}

func (s *service) replaceFile(id string, parts ...part) *response {
	s.Helper()
	body, contentType := form(parts...)
	return s.call("PUT", "/datasources/"+id+"/original", body, "Content-Type", contentType)
}

func TestAFileIsReplaced(t *testing.T) {
	t.Parallel()
	s := newService(t)
	to := part{name: "datastoreId", text: s.newDatastore()}
	id := s.upload(to, part{"file", "note.txt", "old"}, part{name: "custom_id", text: "c-1"}).want(201).object().id()
	was, err := s.catalog.Datasource(t.Context(), s.ws, id)
	must(t, err)
	o := s.replaceFile(id, part{"file", "draft.pdf", "%PDF-new"}).want(200).object()
	if o.id() != id || o.text("name") != "note.txt" || o.text("customId") != "c-1" || o.text("status") != "unsynched" || o["outdated"] != false {
		t.Errorf("%v", o)
	}
	d, err := s.catalog.Datasource(t.Context(), s.ws, id)
	must(t, err)
	if d.Original.Name != "draft.pdf" || d.Original.MIMEType != "application/pdf" || s.originals.all()[d.Original.Key] != "%PDF-new" || d.Original.Key == was.Original.Key || d.Config.ChangedAt.IsZero() {
		t.Errorf("original %+v", d.Original)
	}
	if o := s.replaceFile(id, part{name: "fileName", text: "final.md"}, part{"file", "draft.md", "# newer"}).want(200).object(); o.text("name") != "final.md" {
		t.Errorf("%v", o)
	}
	if p := s.replaceFile(id, part{"file", "a.exe", "MZ"}).problem(415); p.Error != "UNSUPPORTED_TYPE" {
		t.Errorf("%+v", p)
	}
	s.replaceFile(id, part{"file", "empty.txt", ""}).fault("file")
	s.stranger().call("PUT", "/datasources/"+id+"/original", "x").problem(400)
}

func TestAZipIsAccepted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	to := part{name: "datastoreId", text: s.newDatastore()}
	o := s.upload(to, part{"file", "all.zip", zipText(t, "a.txt", "text")}).want(201).object()
	d, err := s.catalog.Datasource(t.Context(), s.ws, o.id())
	must(t, err)
	if o.text("type") != "file" || d.Original.MIMEType != "application/zip" {
		t.Errorf("%v, original %+v", o, d.Original)
	}
}

// newArchive returns the ids of an archive and of a file in it.
func (s *service) newArchive() (id, file string) {
	s.Helper()
	id = s.upload(part{name: "datastoreId", text: s.newDatastore()}, part{"file", "all.zip", zipText(s.T, "a.txt", "text")}, part{name: "custom_id", text: "all"}).want(201).object().id()
	apply := func(typ domain.EventType, change func(*domain.Event)) {
		d, err := s.catalog.Datasource(s.Context(), s.ws, id)
		must(s.T, err)
		ev := domain.Event{
			Type: typ, JobID: d.JobID, JobKind: domain.JobIngest, WorkspaceID: s.ws, DatastoreID: d.DatastoreID, DatasourceID: id, Generation: 1,
			Places: []domain.Place{{Engine: domain.EngineEmbedded, Model: model}}, At: d.CreatedAt,
		}
		change(&ev)
		_, err = s.catalog.Apply(s.Context(), ev)
		must(s.T, err)
	}
	apply(domain.EventArchive, func(*domain.Event) {})
	file = domain.MemberID(id, "a.txt")
	apply(domain.EventDiscovered, func(ev *domain.Event) {
		ev.Members = []domain.Original{{Key: file + ".m-1-a", SHA256: "a", Size: 4, MIMEType: "text/plain", Name: "a.txt"}}
	})
	apply(domain.EventSynched, func(ev *domain.Event) { ev.Complete, ev.LeftOut = true, map[string]int{"empty": 1} })
	return id, file
}

func TestArchives(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id, file := s.newArchive()
	o := s.call("GET", "/datasources/"+id, nil).want(200).object()
	crawl, _ := o["crawl"].(map[string]any)
	if o.text("type") != "archive" || crawl["discovered"] != 1.0 || crawl["waiting"] != 1.0 || crawl["leftOut"].(map[string]any)["empty"] != 1.0 {
		t.Errorf("%v", o)
	}
	if data := s.call("GET", "/datasources?groupId="+id, nil).want(200).object().list("data"); len(data) != 1 || data[0].(map[string]any)["id"] != file {
		t.Errorf("files %v", data)
	}
	if data := s.call("GET", "/datasources?type=archive", nil).want(200).object().list("data"); len(data) != 1 || data[0].(map[string]any)["id"] != id {
		t.Errorf("archives %v", data)
	}
	for name, a := range map[string]*response{
		"the file":              s.replaceFile(file, part{"file", "a.txt", "new"}),
		"the archive by a text": s.call("POST", "/datastores/update/"+o.text("datastoreId"), object{"id": id, "text": "new"}),
		"the metadata":          s.call("PATCH", "/datasources/"+id, object{"metadata": object{"a": "b"}}),
		"a crawl":               s.call("POST", "/datasources/"+id+"/stop", object{}),
	} {
		if p := a.problem(409); p.Error != "CONFLICT" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	upsert := "/datastores/upsert/" + o.text("datastoreId")
	s.call("POST", upsert, object{"documents": []object{{"text": "new", "custom_id": "all"}}}).fault("documents[0].custom_id")
	s.call("POST", upsert, object{"documents": []object{{"text": " "}, {"text": "new", "metadata": object{"custom_id": "all"}}}}).fault("documents[1].metadata.custom_id")
	s.call("PATCH", "/datasources/"+id, object{"name": "Contracts"}).want(200)
	if p := s.replaceFile(id, part{"file", "all.zip", "%PDF-new"}).problem(415); p.Error != "UNSUPPORTED_TYPE" {
		t.Errorf("the archive by a document: %+v", p)
	}
	s.replaceFile(id, part{"file", "all.zip", zipText(t, "b.txt", "text")}).want(200)
	for _, mode := range []string{"reindex", "refresh"} {
		if o := s.call("POST", "/datasources/"+id+"/resync", object{"mode": mode}).want(200).object(); o["queued"] != 1.0 {
			t.Errorf("%s: %v", mode, o)
		}
	}
	s.call("DELETE", "/datasources/"+id, object{}).want(200)
	s.call("GET", "/datasources/"+file, nil).problem(404)
}

// interruptedOriginals calls `during` before it stores content.
type interruptedOriginals struct {
	api.Originals
	during func()
}

func (o interruptedOriginals) Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error) {
	o.during()
	return o.Originals.Put(ctx, datasourceID, name, mimeType, r)
}

// TestAFileThatBecomesAnArchiveIsNotReplaced replaces a ZIP file with a document just as a worker finds that the file
// is an archive. If an archive datasource had a document as its content, it could never be unpacked.
func TestAFileThatBecomesAnArchiveIsNotReplaced(t *testing.T) {
	t.Parallel()
	during := func() {}
	s := newService(t, func(_ *api.Options, d *api.Deps) {
		d.Originals = interruptedOriginals{d.Originals, func() { during() }}
	})
	store := s.newDatastore()
	for name, replace := range map[string]func(id string) *response{
		"by a file": func(id string) *response { return s.replaceFile(id, part{"file", "draft.pdf", "%PDF-new"}) },
		"by a text": func(id string) *response {
			return s.call("POST", "/datastores/update/"+store, object{"id": id, "text": "new"})
		},
	} {
		id := s.upload(part{name: "datastoreId", text: store}, part{"file", "all.zip", zipText(t, "a.txt", "text")}).want(201).object().id()
		was, err := s.catalog.Datasource(t.Context(), s.ws, id)
		must(t, err)
		during = func() {
			_, err := s.catalog.Apply(t.Context(), domain.Event{
				Type: domain.EventArchive, JobID: was.JobID, JobKind: domain.JobIngest, WorkspaceID: s.ws, DatastoreID: store, DatasourceID: id, Generation: 1, At: was.CreatedAt,
			})
			must(t, err)
		}
		stored := len(s.originals.all())
		if p := replace(id).problem(409); p.Error != "CONFLICT" {
			t.Errorf("%s: %+v", name, p)
		}
		d, err := s.catalog.Datasource(t.Context(), s.ws, id)
		must(t, err)
		if d.Type != domain.TypeArchive || d.Original.Key != was.Original.Key || len(s.originals.all()) != stored {
			t.Errorf("%s: the datasource is %+v with the original %+v", name, d, d.Original)
		}
		during = func() {}
	}
}

// TestADocumentCannotReplaceAGroup upserts several documents, including some with the custom ids of an archive and a
// site. Those must be rejected, and the other, valid documents must be stored.
func TestADocumentCannotReplaceAGroup(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id, _ := s.newArchive()
	store := s.call("GET", "/datasources/"+id, nil).want(200).object().text("datastoreId")
	s.call("POST", "/datasources", object{"datastoreId": store, "type": "web_site", "config": object{"source_url": "https://example.com", "custom_id": "site"}}).want(201)
	o := s.call("POST", "/datastores/upsert/"+store, object{"documents": []object{
		{"text": "one"}, {"text": "two", "custom_id": "all"}, {"text": "three", "custom_id": "site"}, {"text": " "}, {"text": "four", "custom_id": "all"}, {"text": "five", "custom_id": "free"},
	}}).want(200).object()
	var got []string
	for i, result := range o.list("results") {
		r := object(result.(map[string]any))
		got = append(got, r.text("status"))
		if r.text("id") != o.list("ids")[i] || (r.text("id") == "") != (len(r.list("errors")) > 0) {
			t.Errorf("document %d: %v, ids %v", i, r, o.list("ids"))
		}
	}
	if want := []string{"created", "rejected", "rejected", "rejected", "rejected", "created"}; !slices.Equal(got, want) {
		t.Errorf("the documents are %v, want %v", got, want)
	}
	for i, text := range map[int]string{0: "one", 5: "five"} {
		d, err := s.catalog.Datasource(t.Context(), s.ws, o.list("ids")[i].(string))
		must(t, err)
		if got := s.originals.all()[d.Original.Key]; got != text {
			t.Errorf("document %d has the content %q", i, got)
		}
	}
}
