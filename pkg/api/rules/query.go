package rules

import (
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

func queryDatastoreRule(body map[string]any) []domain.FieldError {
	faults := jsonbody.FilterFaults(body)
	vector, hasVector := body["vector"]
	if _, hasQuery := body["query"]; !hasQuery && (!hasVector || body["mode"] != string(domain.SearchDense)) {
		faults = append(faults, domain.FieldError{Field: "query", Message: "is required"})
	}
	format, hasFormat := body["encoding_format"].(string)
	switch {
	case hasVector:
		if _, fault := jsonbody.Vector(vector, format); fault != "" {
			faults = append(faults, domain.FieldError{Field: "vector", Message: fault})
		}
	case hasFormat:
		faults = append(faults, domain.FieldError{Field: "encoding_format", Message: "only works together with vector; send vector or leave this field out"})
	}
	return faults
}
