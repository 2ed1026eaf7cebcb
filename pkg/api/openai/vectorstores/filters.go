package vectorstores

import (
	"encoding/json"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/retrieve"
)

// readFilters reads the field filters.
func (h *handler) readFilters(faults *openai.Faults, text json.RawMessage, r *retrieve.Request) {
	if len(text) == 0 {
		return
	}
	value, syntax := jsonbody.Parse(text)
	if len(syntax) > 0 {
		faults.Append(syntax...)
		return
	}
	where, found := filter.Parse(value, "filters")
	faults.Append(found...)
	if where == nil {
		return
	}
	r.Filters.Metadata = map[string]any{}
	addEqualities(faults, where, r.Filters.Metadata)
}

// addEqualities adds the conditions of a filter that consists of equalities.
func addEqualities(faults *openai.Faults, f *filter.Filter, metadata map[string]any) {
	_, taken := metadata[f.Key]
	switch {
	case f.Op == filter.And:
		for _, part := range f.Filters {
			addEqualities(faults, part, metadata)
		}
	case (f.Op == filter.Eq || f.Op == filter.In) && !taken:
		values := make([]any, len(f.Values))
		for i, v := range f.Values {
			values[i] = v.Any()
		}
		metadata[f.Key] = values
	default:
		faults.Add("filters.type", "is %q; this server can search with eq, in and and", f.Op)
	}
}
