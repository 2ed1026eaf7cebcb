package api_test

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// part is one field in a form. It is a file if it has a file name.
type part struct{ name, fileName, text string }

// form encodes the parts in the given order.
func form(parts ...part) (body string, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := `form-data; name="` + p.name + `"`
		if p.fileName != "" {
			disposition += `; filename="` + p.fileName + `"`
			h.Set("Content-Type", "application/octet-stream")
		}
		h.Set("Content-Disposition", disposition)
		pw, _ := w.CreatePart(h) // cannot fail, because it writes to memory
		_, _ = io.WriteString(pw, p.text)
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

func (s *service) upload(parts ...part) *response {
	s.Helper()
	body, contentType := form(parts...)
	return s.call("POST", "/datasources", body, "Content-Type", contentType)
}

func TestUploads(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	to := part{name: "datastoreId", text: datastore}
	file := part{"file", "note.txt", "The trial lasts 30 days."}
	for name, c := range map[string]struct {
		parts []part
		want  string // the datasource's expected name
	}{
		"in the usual order":             {[]part{{name: "type", text: "file"}, to, file}, "note.txt"},
		"the file first":                 {[]part{file, {name: "type", text: "file"}, to}, "note.txt"},
		"without a type":                 {[]part{file, to}, "note.txt"},
		"with a name of its own":         {[]part{to, {name: "fileName", text: "Handbook.txt"}, file}, "Handbook.txt"},
		"with a reversed name":           {[]part{to, {name: "fileName", text: "note\u202Etxt.exe\u2069"}, file}, "notetxt.exe"},
		"with an empty fileName":         {[]part{to, {name: "fileName"}, file}, "note.txt"},
		"a name with folders":            {[]part{to, {"file", `C:\\docs\\a.txt`, "x"}}, "a.txt"},
		"a name of dots":                 {[]part{to, {"file", "..", "x"}}, "file"},
		"as many parts as there may be":  {append([]part{to, file}, slices.Repeat([]part{{name: "more", text: "x"}}, 48)...), "note.txt"},
		"parts that are not known":       {[]part{{name: "size", text: "small"}, to, file, {"more", "b.txt", "x"}}, "note.txt"},
		"a name in Japanese":             {[]part{to, {"file", "資料.txt", "x"}}, "資料.txt"},
		"blanks around the datastore id": {[]part{{name: "datastoreId", text: " " + datastore + "\n"}, file}, "note.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.in(t).upload(c.parts...).want(201).object()
			if o.text("name") != c.want || o.text("type") != "file" || o.text("status") != "unsynched" {
				t.Errorf("%v", o)
			}
		})
	}
}

func TestAnUploadIsStoredUnchanged(t *testing.T) {
	t.Parallel()
	s := newService(t)
	content := "%PDF-1.7\r\n\x00\xff" + strings.Repeat("x", 100_000)
	o := s.upload(part{"file", "a.pdf", content}, part{name: "datastoreId", text: s.newDatastore()}, part{name: "custom_id", text: "c-7"}).want(201).object()
	config, _ := o["config"].(map[string]any)
	if config["mime_type"] != "application/pdf" || config["file_size"] != float64(len(content)) || config["file_name"] != "a.pdf" || config["custom_id"] != "c-7" || len(object(config).text("sha256")) != 64 {
		t.Errorf("config %v", config)
	}
	if o.text("customId") != "c-7" || o.text("createdAt") != "2026-05-04" || o["lastSynch"] != nil || o["groupId"] != "" {
		t.Errorf("%v", o)
	}
	d, err := s.catalog.Datasource(t.Context(), s.ws, o.id())
	must(t, err)
	if s.originals.all()[d.Original.Key] != content {
		t.Error("the content is another one")
	}
	jobs, err := s.catalog.Outbox(t.Context(), 10)
	must(t, err)
	if len(jobs) != 1 || jobs[0].Kind != domain.JobIngest || jobs[0].Original.Key != d.Original.Key || jobs[0].CustomID != "c-7" || jobs[0].Places[0].Model != model {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestAnUploadHasMetadata(t *testing.T) {
	t.Parallel()
	s := newService(t)
	to, file := part{name: "datastoreId", text: s.newDatastore()}, part{"file", "note.txt", "x"}
	o := s.upload(to, file, part{name: "metadata", text: `{"team": "ops", "year": 2026}`}).want(201).object()
	if diff := cmp.Diff(map[string]any{"team": "ops", "year": 2026.0}, o["metadata"]); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	s.upload(to, file, part{name: "metadata", text: ""}).want(201)
	for _, bad := range []string{"notjson", `["a"]`, `{"a": "` + "\x00" + `"}`, `{"a": 1} x`, `{"a": "` + strings.Repeat("x", domain.MaxMetadataBytes) + `"}`} {
		s.upload(to, file, part{name: "metadata", text: bad}).fault("metadata")
	}
	s.upload(to, file, part{name: "metadata", text: `{"a": 1, "a": 2}`}).fault("metadata.a")
	s.upload(to, file, part{name: "metadat", text: `{}`}).fault("metadat")
}

func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	s := newService(t, limits, func(o *api.Options, _ *api.Deps) { o.TempDir = temp })
	to := part{name: "datastoreId", text: s.newDatastore()}
	file := part{"file", "note.txt", "x"}

	a := s.upload(part{name: "type", text: "web_page"}, part{name: "custom_id", text: strings.Repeat("c", 201)})
	a.fault("file")
	a.fault("datastoreId")
	a.fault("type")
	a.fault("custom_id")
	s.upload(to, file, file).fault("file")
	s.upload(to, to, file).fault("datastoreId")
	s.upload(to, part{"file", "note.txt", ""}).fault("file")
	s.upload(to, file, part{name: "fileName", text: "\xff"}).fault("fileName")
	s.upload(file, part{name: "datastoreId", text: unusedID}).problem(404)
	if p := s.upload(to, part{"file", "a.exe", "MZ"}).problem(415); p.Error != "UNSUPPORTED_TYPE" || !strings.Contains(p.Detail, "application/x-msdownload") || !strings.Contains(p.Detail, "supported types: text, PDF") || !strings.HasSuffix(p.Detail, ", ZIP archives of these") {
		t.Errorf("%+v", p)
	}
	if p := s.upload(to, part{"file", "a.txt", strings.Repeat("x", 2001)}).problem(413); !strings.Contains(p.Detail, "2000 bytes") {
		t.Errorf("%+v", p)
	}
	s.upload(to, part{"file", "a.txt", strings.Repeat("x", 2000)}).want(201)
	tooMany := append([]part{to}, slices.Repeat([]part{{name: "more", text: "x"}}, 49)...)
	if got := s.upload(append(tooMany, file)...).fault("body"); got != "has more than 50 parts" {
		t.Errorf("51 parts: %q", got)
	}
	body, contentType := form(to, file)
	s.call("POST", "/datasources", body[:len(body)-20], "Content-Type", contentType).problem(400)
	s.call("POST", "/datasources", body, "Content-Type", "multipart/form-data").problem(400)
	s.call("POST", "/datasources", "--x", "Content-Type", "multipart/form-data; boundary=x").problem(400)

	left, err := os.ReadDir(temp)
	must(t, err)
	if len(left) != 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	if n := len(s.originals.all()); n != 1 {
		t.Errorf("%d originals are kept, want that of the one upload", n)
	}
}

func TestUploadsFailWhileTheStoreIsDown(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	s.originals.fail(&domain.Error{Code: domain.CodeUnavailable, Message: "the store of originals cannot be reached", Err: errors.New("nats: timeout")})
	a := s.upload(part{"file", "a.txt", "x"}, part{name: "datastoreId", text: datastore})
	if p := a.problem(503); a.header.Get("Retry-After") != "5" || p.Error != "UNAVAILABLE" {
		t.Errorf("%+v", p)
	}
	s.call("POST", "/datastores/upsert/"+datastore, object{"documents": []object{{"text": "a"}}}).problem(503)
	if n := len(s.call("GET", "/datasources", nil).object().list("data")); n != 0 {
		t.Errorf("%d datasources were made", n)
	}
}

func TestAFormWithoutABoundaryIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, contentType := range []string{"multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"x"} {
		s.call("POST", "/datasources", "x", "Content-Type", contentType).fault("Content-Type")
	}
	body, contentType := form(part{name: "datastoreId", text: s.newDatastore()}, part{"file", "note.txt", "text"})
	_, params, _ := strings.Cut(contentType, ";")
	s.call("POST", "/datasources", body, "Content-Type", "Multipart/Form-Data ;"+params).want(201)
}

func TestAnIdempotencyKeyOfAnotherUploadIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	to := part{name: "datastoreId", text: s.newDatastore()}
	upload := func(text string) *response {
		body, contentType := form(to, part{"file", "note.txt", text})
		return s.call("POST", "/datasources", body, "Content-Type", contentType, "Idempotency-Key", "k")
	}
	first, again := upload("one").want(201), upload("one").want(201)
	if first.object().id() != again.object().id() || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	upload("another").problem(409)
}
