package ingest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

func TestRowMetadata(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 7200))
	doc := &domain.Document{Title: "A title", MIMEType: "text/html", Language: "de"}
	job := domain.Job{
		DatasourceID: "ds", Type: domain.TypeWebPage, GroupID: "site", CustomID: "sku", CreatedAt: created, ChangedAt: created.Add(time.Hour),
		Original: &domain.Original{Name: "https://example.com/a"},
		Metadata: map[string]any{"team": "docs", "datasource.type": "mine", "datasource": map[string]any{"id": "mine", "owner": "Kim"}},
	}
	want := map[string]any{
		"team": "docs", "datasource": map[string]any{"owner": "Kim"}, "document": map[string]any{"title": "A title", "language": "de"},
		"datasource.id": "ds", "datasource.name": "A title", "datasource.type": "web_page", "datasource.site_id": "site", "datasource.custom_id": "sku",
		"datasource.source_url": "https://example.com/a", "datasource.mime_type": "text/html",
		"datasource.created_at": "2026-03-01T10:00:00Z", "datasource.changed_at": "2026-03-01T11:00:00Z",
	}
	if diff := cmp.Diff(want, rowMetadata(job, doc)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(job.Metadata["datasource"].(map[string]any)) != 2 || len(job.Metadata) != 3 {
		t.Errorf("the job's metadata has changed: %v", job.Metadata)
	}
	job.CreatedAt = time.Time{}
	got := rowMetadata(job, doc)
	for _, key := range []string{"datasource.id", "datasource.type"} {
		if got[key] != nil {
			t.Errorf("a job of an earlier version has %s: %v", key, got[key])
		}
	}
}
