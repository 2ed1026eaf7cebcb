package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// fileForm returns a form with a file, followed by fields given as alternating names and values.
func fileForm(part, name, content string, more ...string) formBody {
	var b strings.Builder
	fmt.Fprintf(&b, "--x\r\nContent-Disposition: form-data; name=%q; filename=%q\r\nContent-Type: text/plain\r\n\r\n%s\r\n", part, name, content)
	for i := 0; i+1 < len(more); i += 2 {
		fmt.Fprintf(&b, "--x\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", more[i], more[i+1])
	}
	return formBody(b.String() + "--x--\r\n")
}

func (s *service) newFile(content string) string {
	s.Helper()
	return s.call("POST", "/v1/files", fileForm("file", "note.txt", content, "purpose", "assistants")).want(200).object().id()
}

func (s *service) newVectorStore(fields ...object) string {
	s.Helper()
	return s.call("POST", "/v1/vector_stores", with(object{"name": "Notes"}, fields...)).want(200).object().id()
}

// openAIFault checks that the body is an error in OpenAI's format and returns its parameter and message.
func (a *response) openAIFault(status int) (param, message string) {
	a.Helper()
	e := a.openAIError(status)
	return e.Param, e.Message
}

func TestFilesAreStoredUnderEveryBase(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, base := range []string{"/v1", "/api/v1"} {
		made := s.call("POST", base+"/files", fileForm("file", "a/b\\näme.txt", "content", "purpose", "user_data", "expires_after[anchor]", "created_at", "expires_after[seconds]", "3600")).want(200).object()
		if made.text("filename") != "näme.txt" || made["bytes"] != 7.0 || made.text("status") != "processed" || made["expires_at"] != made["created_at"].(float64)+3600 {
			t.Errorf("the file is %v", made)
		}
		got := s.call("GET", base+"/files/"+made.id(), nil).want(200)
		if !slices.Equal(got.body, s.call("GET", base+"/files/"+strings.TrimPrefix(made.id(), "file-"), nil).want(200).body) {
			t.Error("the id without its prefix is another file")
		}
		content := s.call("GET", base+"/files/"+made.id()+"/content", nil).want(200)
		if string(content.body) != "content" || content.header.Get("Content-Security-Policy") == "" || !strings.HasPrefix(content.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("the content is %q, %v", content.body, content.header)
		}
		if head := s.call("HEAD", base+"/files/"+made.id()+"/content", nil).want(200); len(head.body) > 0 || head.header.Get("Content-Length") != "7" {
			t.Errorf("HEAD: %q, %v", head.body, head.header)
		}
		if gone := s.call("DELETE", base+"/files/"+made.id(), nil).want(200).object(); gone["deleted"] != true || gone.id() != made.id() {
			t.Errorf("the deletion is %v", gone)
		}
		s.call("GET", base+"/files/"+made.id(), nil).openAIFault(404)
	}
}

func TestFaultyFilesAreRejected(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.MaxUploadBytes = 1000 })
	for name, test := range map[string]struct {
		body  formBody
		param string
	}{
		"no purpose":         {fileForm("file", "a.txt", "x"), "purpose"},
		"an unknown purpose": {fileForm("file", "a.txt", "x", "purpose", "fun"), "purpose"},
		"no file":            {fileForm("other", "a.txt", "x", "purpose", "vision"), "file"},
		"an empty file":      {fileForm("file", "a.txt", "", "purpose", "vision"), "file"},
		"a short life":       {fileForm("file", "a.txt", "x", "purpose", "vision", "expires_after[anchor]", "created_at", "expires_after[seconds]", "3599"), "expires_after.seconds"},
		"a long life":        {fileForm("file", "a.txt", "x", "purpose", "vision", "expires_after", `{"anchor": "created_at", "seconds": 2592001}`), "expires_after.seconds"},
		"another anchor":     {fileForm("file", "a.txt", "x", "purpose", "vision", "expires_after[anchor]", "now", "expires_after[seconds]", "7200"), "expires_after.anchor"},
		"no number":          {fileForm("file", "a.txt", "x", "purpose", "vision", "expires_after[anchor]", "created_at", "expires_after[seconds]", "soon"), "expires_after[seconds]"},
		"faulty JSON":        {fileForm("file", "a.txt", "x", "purpose", "vision", "expires_after", "{"), "expires_after"},
	} {
		if param, message := s.call("POST", "/v1/files", test.body).openAIFault(400); param != test.param {
			t.Errorf("%s: %s: %s", name, param, message)
		}
	}
	s.call("POST", "/v1/files", fileForm("file", "a.txt", strings.Repeat("x", 1001), "purpose", "vision")).openAIFault(413)
	s.call("POST", "/v1/files", object{"purpose": "vision"}).openAIFault(400)
	s.call("POST", "/v1/uploads", object{"bytes": 1001, "filename": "a", "mime_type": "text/plain", "purpose": "vision"}).openAIFault(413)
	if n := len(s.originals.all()); n > 0 {
		t.Errorf("%d originals are stored", n)
	}
}

func TestEndpointsOfFilesNeedTheirScopes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	file, store := s.newFile("text"), s.newVectorStore()
	reader := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeRead}}))
	agent := s.as(s.newKey(domain.APIKey{WorkspaceID: s.ws, Scopes: []domain.Scope{domain.ScopeQuery}, AgentID: s.newAgent()}))
	nobody, stranger := s.as(""), s.stranger()
	for _, e := range []struct {
		method, path string
		body         any
		reads        bool
	}{
		{"GET", "/v1/files", nil, true},
		{"GET", "/v1/files/" + file, nil, true},
		{"GET", "/v1/files/" + file + "/content", nil, true},
		{"GET", "/v1/vector_stores", nil, true},
		{"GET", "/v1/vector_stores/" + store, nil, true},
		{"GET", "/v1/vector_stores/" + store + "/files", nil, true},
		{"POST", "/v1/vector_stores/" + store + "/search", object{"query": "x"}, true},
		{"POST", "/v1/files", fileForm("file", "a.txt", "x", "purpose", "vision"), false},
		{"POST", "/v1/uploads", object{"bytes": 1, "filename": "a", "mime_type": "text/plain", "purpose": "vision"}, false},
		{"POST", "/v1/vector_stores", object{}, false},
		{"POST", "/v1/vector_stores/" + store, object{"name": "x"}, false},
		{"POST", "/v1/vector_stores/" + store + "/files", object{"file_id": file}, false},
		{"POST", "/v1/vector_stores/" + store + "/file_batches", object{"file_ids": []string{file}}, false},
		{"DELETE", "/v1/vector_stores/" + store, nil, false},
		{"DELETE", "/v1/files/" + file, nil, false},
	} {
		nobody.in(t).call(e.method, e.path, e.body).openAIFault(401)
		agent.in(t).call(e.method, e.path, e.body).openAIFault(403)
		if e.reads {
			reader.in(t).call(e.method, e.path, e.body).want(200)
		} else {
			reader.in(t).call(e.method, e.path, e.body).openAIFault(403)
		}
		if strings.Contains(e.path, file) || strings.Contains(e.path, store) {
			stranger.in(t).call(e.method, e.path, e.body).openAIFault(404)
		}
	}
	s.call("PUT", "/v1/files", nil).openAIFault(405)
}

func TestARepeatedRequestStoresAFileOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	form := fileForm("file", "a.txt", "once", "purpose", "vision")
	first := s.call("POST", "/v1/files", form, "Idempotency-Key", "k").want(200).object().id()
	if again := s.call("POST", "/v1/files", form, "Idempotency-Key", "k").want(200).object().id(); again != first {
		t.Errorf("%s is stored again as %s", first, again)
	}
	store := s.newVectorStore()
	body := object{"file_ids": []string{first}}
	batch := s.call("POST", "/v1/vector_stores/"+store+"/file_batches", body, "Idempotency-Key", "b").want(200).object().id()
	if again := s.call("POST", "/v1/vector_stores/"+store+"/file_batches", body, "Idempotency-Key", "b").want(200).object().id(); again != batch {
		t.Errorf("the batch %s is stored again as %s", batch, again)
	}
}

func TestUploadsAreJoined(t *testing.T) {
	t.Parallel()
	s := newService(t)
	begin := func(bytes int) string {
		return s.call("POST", "/v1/uploads", object{"bytes": bytes, "filename": "long.txt", "mime_type": "text/plain", "purpose": "assistants"}).want(200).object().id()
	}
	part := func(upload, content string) string {
		return s.call("POST", "/v1/uploads/"+upload+"/parts", fileForm("data", "blob", content)).want(200).object().id()
	}
	complete := func(upload string, body object) *response {
		return s.call("POST", "/v1/uploads/"+upload+"/complete", body)
	}
	u := begin(9)
	b, a := part(u, "second"), part(u, "one")
	for name, body := range map[string]object{
		"no parts":         {"part_ids": []string{}},
		"an unknown part":  {"part_ids": []string{a, "part_x"}},
		"a part twice":     {"part_ids": []string{a, a, b}},
		"too few bytes":    {"part_ids": []string{b}},
		"another checksum": {"part_ids": []string{a, b}, "md5": strings.Repeat("0", 32)},
	} {
		if param, message := complete(u, body).openAIFault(400); !strings.HasPrefix(param, "part_ids") && param != "md5" {
			t.Errorf("%s: %s: %s", name, param, message)
		}
	}
	done := complete(u, object{"part_ids": []string{a, b}, "md5": "70073CD65506330BB66A5AFFC440190F"})
	file, _ := done.want(200).object()["file"].(map[string]any)
	if got := s.call("GET", "/v1/files/"+object(file).id()+"/content", nil).want(200); string(got.body) != "onesecond" {
		t.Errorf("the content is %q", got.body)
	}
	again, _ := complete(u, object{"part_ids": []string{a, b}}).want(200).object()["file"].(map[string]any)
	if object(again).id() != object(file).id() {
		t.Errorf("completed again as %v", again)
	}
	s.call("POST", "/v1/uploads/"+u+"/parts", fileForm("data", "blob", "late")).openAIFault(409)
	other := begin(3)
	s.call("POST", "/v1/uploads/"+other+"/parts", fileForm("data", "blob", "four")).openAIFault(413)
	if got := s.call("POST", "/v1/uploads/"+other+"/cancel", nil).want(200).object(); got.text("status") != "cancelled" {
		t.Errorf("cancelled: %v", got)
	}
	s.stranger().call("POST", "/v1/uploads/"+other+"/cancel", nil).openAIFault(404)
}

func TestFaultyRequestsToVectorStoresAreRejected(t *testing.T) {
	t.Parallel()
	s := newService(t)
	file, store := s.newFile("text"), s.newVectorStore()
	pairs := object{}
	for i := range 17 {
		pairs[fmt.Sprint(i)] = "x"
	}
	many := make([]string, 2001)
	for i := range many {
		many[i] = file
	}
	static := func(limit, overlap int) object {
		return object{"type": "static", "static": object{"max_chunk_size_tokens": limit, "chunk_overlap_tokens": overlap}}
	}
	for _, test := range []struct {
		path  string
		body  object
		param string
	}{
		{"", object{"metadata": pairs}, "metadata"},
		{"", object{"metadata": object{"a": 1}}, "metadata.a"},
		{"", object{"metadata": object{"a": strings.Repeat("x", 513)}}, "metadata.a"},
		{"", object{"metadata": object{strings.Repeat("x", 65): "a"}}, "metadata"},
		{"", object{"expires_after": object{"anchor": "last_active_at", "days": 366}}, "expires_after.days"},
		{"", object{"expires_after": object{"anchor": "created_at", "days": 1}}, "expires_after.anchor"},
		{"", object{"chunking_strategy": object{"type": "sliding"}}, "chunking_strategy.type"},
		{"", object{"chunking_strategy": object{"type": "static"}}, "chunking_strategy.static"},
		{"", object{"chunking_strategy": static(99, 0)}, "chunking_strategy.static.max_chunk_size_tokens"},
		{"", object{"chunking_strategy": static(200, 101)}, "chunking_strategy.static.chunk_overlap_tokens"},
		{"", object{"name": strings.Repeat("x", 257)}, "name"},
		{"", object{"name": 7}, "name"},
		{"/" + store, object{"expires_after": object{"anchor": "last_active_at", "days": 0}}, "expires_after.days"},
		{"/" + store + "/files", object{}, "file_id"},
		{"/" + store + "/files", object{"file_id": file, "attributes": object{"a": []string{"b"}}}, "attributes.a"},
		{"/" + store + "/files", object{"file_id": file, "attributes": pairs}, "attributes"},
		{"/" + store + "/file_batches", object{}, "file_ids"},
		{"/" + store + "/file_batches", object{"file_ids": many}, "file_ids"},
		{"/" + store + "/file_batches", object{"file_ids": []string{file}, "files": []object{{"file_id": file}}}, "files"},
		{"/" + store + "/file_batches", object{"files": []object{{"file_id": file}, {}}}, "files[1].file_id"},
		{"/" + store + "/search", object{}, "query"},
		{"/" + store + "/search", object{"query": []string{"a", ""}}, "query[1]"},
		{"/" + store + "/search", object{"query": 7}, "query"},
		{"/" + store + "/search", object{"query": strings.Repeat("x", 8001)}, "query"},
		{"/" + store + "/search", object{"query": "a", "max_num_results": 51}, "max_num_results"},
		{"/" + store + "/search", object{"query": "a", "ranking_options": object{"score_threshold": 1.5}}, "ranking_options.score_threshold"},
		{"/" + store + "/search", object{"query": "a", "ranking_options": object{"ranker": "best"}}, "ranking_options.ranker"},
		{"/" + store + "/search", object{"query": "a", "filters": object{"type": "near"}}, "filters.type"},
		{"/nonsense/search", object{"query": "a"}, "vector_store_id"},
	} {
		if param, message := s.in(t).call("POST", "/v1/vector_stores"+test.path, test.body).openAIFault(400); param != test.param {
			t.Errorf("%s %.100v: %s: %s", test.path, test.body, param, message)
		}
	}
	for path, param := range map[string]string{"?limit=0": "limit", "?limit=101": "limit", "?order=up": "order", "?after=vs_" + domain.NewID(): "after", "?after=a&before=b": "before", "/" + store + "/files?filter=done": "filter"} {
		if got, message := s.call("GET", "/v1/vector_stores"+path, nil).openAIFault(400); got != param {
			t.Errorf("%s: %s: %s", path, got, message)
		}
	}
	missing := domain.NewID()
	for _, path := range []string{"/vs_" + missing, "/vs_nonsense", "/" + store + "/files/file-" + missing, "/" + store + "/files/x", "/" + store + "/file_batches/vsfb_" + missing, "/" + store + "/file_batches/x"} {
		s.call("GET", "/v1/vector_stores"+path, nil).openAIFault(404)
	}
	if param, _ := s.call("POST", "/v1/vector_stores/"+store+"/files", object{"file_id": "file-" + missing}).openAIFault(404); param != "file_id" {
		t.Error(param)
	}
	param, message := s.call("POST", "/v1/vector_stores", object{"file_ids": []string{file, "file-" + missing, file, "file-abc"}}).openAIFault(404)
	if param != "file_ids[1]" || message != `file_ids[1]: there is no file with the id "file-`+missing+`"; upload the file with POST /v1/files and send its id; file_ids[3]: there is no file with the id "file-abc"` {
		t.Errorf("the parameter is %s: %s", param, message)
	}
	if ignored := s.call("POST", "/v1/vector_stores", object{"name": "x", "provider_id": "y"}).want(200).header.Get("Sluice-Ignored-Parameters"); ignored != "provider_id" {
		t.Errorf("ignored are %q", ignored)
	}
}

func TestAVectorStoreShowsItsFiles(t *testing.T) {
	t.Parallel()
	s := newService(t)
	file, store := s.newFile("text"), s.newVectorStore(object{"chunking_strategy": object{"type": "static", "static": object{"max_chunk_size_tokens": 400, "chunk_overlap_tokens": 100}}})
	path := "/v1/vector_stores/" + store
	added := s.call("POST", path+"/files", object{"file_id": file, "attributes": object{"year": 2026, "open": true}}).want(200).object()
	if added.id() != file || added.text("status") != "in_progress" || added.text("vector_store_id") != store || added["attributes"].(map[string]any)["year"] != 2026.0 {
		t.Fatalf("added: %v", added)
	}
	datasource := domain.AttachedID(strings.TrimPrefix(store, "vs_"), strings.TrimPrefix(file, "file-"))
	s.synch(datasource, 1, 3)
	got := s.call("GET", path+"/files/"+file, nil).want(200).object()
	if got.text("status") != "completed" || got["usage_bytes"] != 100.0 || got["last_error"] != nil {
		t.Errorf("the file is %v", got)
	}
	s.chunks.read = func(context.Context, domain.Datasource, int, int) ([]domain.Chunk, error) {
		return []domain.Chunk{{Ordinal: 0, Text: "one"}, {Ordinal: 1, Text: "two \"quoted\""}}, nil
	}
	content := s.call("GET", path+"/files/"+file+"/content", nil).want(200).object()
	if fmt.Sprint(content.list("data")) != `[map[text:one type:text] map[text:two "quoted" type:text]]` || content.text("filename") != "note.txt" || content["has_more"] != false {
		t.Errorf("the content is %v", content)
	}
	shown := s.call("GET", path, nil).want(200).object()
	if counts := fmt.Sprint(shown["file_counts"]); counts != "map[cancelled:0 completed:1 failed:0 in_progress:0 total:1]" || shown.text("status") != "completed" {
		t.Errorf("the vector store is %v", shown)
	}
	changed := s.call("POST", path+"/files/"+file, object{"attributes": object{"year": 2027}}).want(200).object()
	if fmt.Sprint(changed["attributes"]) != "map[year:2027]" {
		t.Errorf("the attributes are %v", changed["attributes"])
	}
	same := s.call("GET", "/datasources/"+datasource, nil).want(200).object()
	if config, _ := same["config"].(map[string]any); config["file_id"] != strings.TrimPrefix(file, "file-") || same.text("name") != "note.txt" {
		t.Errorf("the datasource is %v", same)
	}
	if gone := s.call("DELETE", path+"/files/"+file, nil).want(200).object(); gone.id() != file || gone["deleted"] != true {
		t.Errorf("the deletion is %v", gone)
	}
	s.call("GET", "/v1/files/"+file, nil).want(200)
}

func TestASearchOfAVectorStoreIsAQueryOfItsDatastore(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := s.newVectorStore()
	var asked []retrieve.Request
	fragments := []domain.Fragment{
		{ChunkID: "c1", Text: "one", Score: 0.9, FileID: domain.NewID(), DatasourceID: domain.NewID(), DatasourceName: "a.txt", Metadata: map[string]any{"k": "v", "list": []any{"x"}, "document": map[string]any{"title": "t"}}},
		{ChunkID: "c2", Text: "two", Score: 0.4, DatasourceID: domain.NewID(), DatasourceName: "b.txt"},
	}
	s.retriever.retrieve = func(_ context.Context, r retrieve.Request) (retrieve.Result, error) {
		asked = append(asked, r)
		return retrieve.Result{Fragments: slices.Clone(fragments)}, nil
	}
	found := s.call("POST", "/v1/vector_stores/"+store+"/search", object{
		"filters": object{"type": "or", "filters": []object{{"type": "gte", "key": "year", "value": 2026}, {"type": "nin", "key": "team", "value": []string{"x"}}}},
		"query":   []string{"a", "b"}, "max_num_results": 7, "ranking_options": object{"ranker": "none", "score_threshold": 0.5}, "rewrite_query": false,
	}).want(200).object()
	if len(asked) != 2 || asked[0].TopK != 7 || asked[1].Query != "b" || *asked[0].Rerank || asked[0].Parts == nil || len(asked[0].Parts) != 0 || "vs_"+asked[0].Datastores[0].ID != store ||
		asked[0].Where == nil || len(asked[0].Where.Filters) != 2 {
		t.Errorf("asked: %+v", asked)
	}
	if len(found.list("data")) != 1 || fmt.Sprint(found.list("search_query")) != "[a b]" || found.text("object") != "vector_store.search_results.page" {
		t.Fatalf("found: %v", found)
	}
	hit := object(found.list("data")[0].(map[string]any))
	if hit.text("file_id") != "file-"+fragments[0].FileID || fmt.Sprint(hit["attributes"]) != "map[k:v]" || fmt.Sprint(hit.list("content")) != "[map[text:one type:text]]" || hit.text("filename") != "a.txt" {
		t.Errorf("found: %v", hit)
	}
	rest := s.call("POST", "/v1/vector_stores/"+store+"/search", object{"query": "a"}).want(200).object()
	if second := object(rest.list("data")[1].(map[string]any)); second.text("file_id") != "file-"+fragments[1].DatasourceID {
		t.Errorf("found: %v", second)
	}
	if asked[2].Parts != nil || asked[2].Rerank != nil || asked[2].TopK != 10 {
		t.Errorf("asked: %+v", asked[2])
	}
	s.stranger().call("POST", "/v1/vector_stores/"+store+"/search", object{"query": "a"}).openAIFault(404)
}

func TestAnExpiredVectorStoreSaysSo(t *testing.T) {
	t.Parallel()
	s := newService(t)
	file := s.newFile("text")
	store := s.newVectorStore(object{"expires_after": object{"anchor": "last_active_at", "days": 1}})
	s.clock.advance(25 * time.Hour)
	if _, err := s.catalog.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.call("GET", "/v1/vector_stores/"+store, nil).want(200).object(); got.text("status") != "expired" {
		t.Errorf("the vector store is %v", got)
	}
	s.call("POST", "/v1/vector_stores/"+store+"/files", object{"file_id": file}).openAIFault(http.StatusConflict)
}
