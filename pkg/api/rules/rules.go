// Package rules checks constraints on request bodies that the OpenAPI document cannot express, such as fields that
// depend on each other. Rules also run on bodies that violate the schema, so that one response lists all faults, and
// must therefore accept values of any type. They don't depend on requests or the catalog; pkg/api and the packages
// below it may import this package.
package rules

import (
	"github.com/sluice/sluice/pkg/domain"
)

// byOperation maps operation ids to rules.
var byOperation = map[string]func(body map[string]any) []domain.FieldError{
	"CreateAgent":           agentRule,
	"UpdateAgent":           agentRule,
	"CreateDatasource":      createDatasourceRule,
	"PlanSite":              planRule,
	"UpdateDatasource":      updateDatasourceRule,
	"UpsertDocuments":       upsertRule,
	"UpdateDocument":        updateDocumentRule,
	"CreateKey":             createKeyRule,
	"CreateChatCompletion":  chatRule,
	"QueryAgent":            queryAgentRule,
	"QueryAgentAlias":       queryAgentRule,
	"QueryDatastore":        queryDatastoreRule,
	"QueryDatastoreResults": queryDatastoreRule,
}

// Faults returns the faults that the operation's rule finds in the body.
func Faults(operationID string, body map[string]any) []domain.FieldError {
	if rule := byOperation[operationID]; rule != nil {
		return rule(body)
	}
	return nil
}

func createKeyRule(body map[string]any) []domain.FieldError {
	scopes, _ := body["scopes"].([]any)
	asksQuery := false
	for _, scope := range scopes {
		asksQuery = asksQuery || scope == string(domain.ScopeQuery)
	}
	_, hasAgent := body["agentId"]
	switch {
	case asksQuery && len(scopes) > 1:
		return []domain.FieldError{{Field: "scopes", Message: "combines query with other scopes; query must be the only scope"}}
	case asksQuery && !hasAgent:
		return []domain.FieldError{{Field: "agentId", Message: "is required with the scope query; send the id of the agent that the key can query"}}
	case hasAgent && !asksQuery:
		return []domain.FieldError{{Field: "agentId", Message: `only works with the scope query; add "scopes": ["query"] or leave it out`}}
	}
	return nil
}
