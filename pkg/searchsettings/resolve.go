package searchsettings

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// Datasources looks up datasources. The catalog implements it.
type Datasources interface {
	ActiveOf(ctx context.Context, datasourceIDs []string) ([]*domain.ActiveDatasource, error)
	ResolveFilters(ctx context.Context, datastoreIDs []string, f domain.Filters) ([]string, error)
}

// Resolve looks up documents in a datastore. For each one, it returns the ids of the matching datasources, or nil if
// there are none.
func Resolve(ctx context.Context, c Datasources, datastoreID string, documents []Document) ([][]string, error) {
	var ids, customIDs []string
	for _, d := range documents {
		if d.DatasourceID != "" {
			ids = append(ids, d.DatasourceID)
		} else {
			customIDs = append(customIDs, d.CustomID)
		}
	}
	if len(customIDs) > 0 {
		found, err := c.ResolveFilters(ctx, []string{datastoreID}, domain.Filters{CustomIDs: customIDs})
		if err != nil {
			return nil, fmt.Errorf("resolving custom ids: %w", err)
		}
		ids = append(ids, found...)
	}
	active, err := c.ActiveOf(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("looking up documents: %w", err)
	}
	byID, byCustomID := make(map[string][]string), make(map[string][]string)
	for _, a := range active {
		if a == nil || a.DatastoreID != datastoreID || byID[a.ID] != nil {
			continue
		}
		byID[a.ID] = []string{a.ID}
		if a.CustomID != "" {
			byCustomID[a.CustomID] = append(byCustomID[a.CustomID], a.ID)
		}
	}
	out := make([][]string, len(documents))
	for i, d := range documents {
		if d.DatasourceID != "" {
			out[i] = byID[d.DatasourceID]
		} else {
			out[i] = byCustomID[d.CustomID]
		}
	}
	return out, nil
}

// Missing returns a warning for each pinned document that the datastore doesn't have. A warning's field is the
// document's path in the settings, such as pins[0].documents[1].
func (s Settings) Missing(ctx context.Context, c Datasources, datastoreID string) ([]domain.FieldError, error) {
	var documents []Document
	var fields []string
	for i, p := range s.Pins {
		for j, d := range p.Documents {
			documents, fields = append(documents, d), append(fields, fmt.Sprintf("pins[%d].documents[%d]", i, j))
		}
		for j, d := range p.Block {
			documents, fields = append(documents, d), append(fields, fmt.Sprintf("pins[%d].block[%d]", i, j))
		}
	}
	if len(documents) == 0 {
		return nil, nil
	}
	ids, err := Resolve(ctx, c, datastoreID, documents)
	if err != nil {
		return nil, err
	}
	var out []domain.FieldError
	for i, found := range ids {
		if len(found) == 0 && len(out) < maxReportedFault {
			out = append(out, domain.FieldError{Field: fields[i], Message: "names a document that is not in this datastore, so it is ignored; remove it from the pin"})
		}
	}
	return out, nil
}
