package neighbours

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/retrieve"
)

type retrievalRequest struct {
	Knowledge string           `json:"knowledge_id"` // a datastore's id
	Query     string           `json:"query"`
	Setting   retrievalSetting `json:"retrieval_setting"`
	Condition *conditions      `json:"metadata_condition"`
}

type retrievalSetting struct {
	TopK      *int     `json:"top_k"`
	Threshold *float64 `json:"score_threshold"`
}

// record is a fragment in Dify's format.
type record struct {
	Content  string         `json:"content"`
	Score    float64        `json:"score"`
	Title    string         `json:"title"`
	Metadata map[string]any `json:"metadata"` // never null, because Dify cannot read that
}

// check returns the request's filter, or all faults.
func (r *retrievalRequest) check() (*filter.Filter, error) {
	var faults []domain.FieldError
	fault := func(field, format string, args ...any) {
		faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if r.Knowledge == "" {
		fault("knowledge_id", "is required; send the id of a datastore (Dify calls it the external knowledge ID)")
	}
	if strings.TrimSpace(r.Query) == "" {
		fault("query", "is required; it must contain text")
	}
	if k := r.Setting.TopK; k != nil && (*k < 1 || *k > retrieve.MaxTopK) {
		fault("retrieval_setting.top_k", "is %d; it must be a whole number between 1 and %d", *k, retrieve.MaxTopK)
	}
	if t := r.Setting.Threshold; t != nil && (*t < 0 || *t > 1) {
		fault("retrieval_setting.score_threshold", "is %v; it must be a number between 0 and 1", *t)
	}
	where, more := r.Condition.filter()
	return where, problem.Invalid(append(faults, more...))
}

// retrieval serves POST /retrieval.
func (h *Handler) retrieval(c *gin.Context) error {
	var r retrievalRequest
	if err := openai.Decode(c, &r); err != nil {
		return err
	}
	where, err := r.check()
	if err != nil {
		return err
	}
	ctx, _ := access.CallerOf(c)
	topK := retrieve.DefaultTopK
	if r.Setting.TopK != nil {
		topK = *r.Setting.TopK
	}
	found, err := h.Search(ctx, openai.BareID(r.Knowledge), Query{Text: r.Query, TopK: topK, Where: where})
	if err != nil {
		return err
	}
	records := []record{}
	for _, f := range found {
		if r.Setting.Threshold == nil || f.Score >= *r.Setting.Threshold {
			records = append(records, record{f.Text, f.Score, cmp.Or(f.DatasourceName, f.Source), recordMetadata(f)})
		}
	}
	return openai.Reply(c, map[string]any{"records": records})
}

// recordMetadata returns the metadata that Dify shows with a fragment: the datasource's, and the fragment's page and
// heading.
func recordMetadata(f domain.Fragment) map[string]any {
	m := map[string]any{"datasource_id": f.DatasourceID}
	for name, value := range map[string]string{"source": f.Source, "custom_id": f.CustomID, "heading": f.Heading, "mime_type": f.MIMEType} {
		if value != "" {
			m[name] = value
		}
	}
	if f.Page > 0 {
		m["page"] = f.Page
	}
	for name, value := range f.Metadata {
		m[name] = value
	}
	return m
}
