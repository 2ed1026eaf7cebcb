package vectorstores

import (
	"encoding/json"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/retrieve"
)

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
	r.Where = where
}
