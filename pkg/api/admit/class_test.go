package admit

import (
	"strings"
	"testing"
)

func TestRequestsOfOtherAPIsHaveTheirClasses(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"POST /v1/chat/completions": classAnswer, "POST /api/v1/completions": classAnswer,
		"POST /v1/files": classUpload, "POST /api/v1/uploads/x/parts": classUpload, "POST /v1/uploads/x/complete": classUpload, "POST /v1/uploads": classOther,
		"POST /v1/vector_stores/x/search": classSearch, "POST /v1/vector_stores/x/files": classUpload, "POST /v1/vector_stores/x/file_batches": classUpload,
		"POST /v1/vector_stores": classOther, "POST /v1/vector_stores/x/files/y": classOther, "GET /v1/files": classOther,
		"POST /v1/embeddings": classOther, "POST /api/v1/rerank": classOther, "POST /v2/rerank": classOther, "GET /v1/models": classOther,
		"POST /retrieval": classSearch, "POST /api/retrieval/": classSearch,
		"PUT /tika": classOther, "PUT /process": classOther, "POST /rmeta/form/text": classOther,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := classOf(method, path); got != want {
			t.Errorf("%s has the class %q, want %q", request, got, want)
		}
	}
}

func TestRequestsThatStoreContentAreUploads(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"POST /datasources": classUpload, "POST /api/datasources/": classUpload, "POST /datasources/upload": classUpload, "POST /api/datasources/upload": classUpload,
		"PUT /datasources/x/original": classUpload, "PUT /api/datasources/x/original/": classUpload,
		"POST /datastores/upsert/x": classUpload, "POST /api/datastores/update/x": classUpload,
		"GET /datasources/x/original": classOther, "PATCH /datasources/x": classOther, "POST /datasources/plan": classOther,
		"POST /datasources/bulk-delete": classOther, "POST /datasources/x/resync": classOther, "POST /datastores": classOther,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := classOf(method, path); got != want {
			t.Errorf("%s has the class %q, want %q", request, got, want)
		}
	}
}
