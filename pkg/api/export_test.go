package api

import (
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/inference"
	"github.com/sluice/sluice/pkg/domain"
)

// UndescribedEndpoints returns the endpoints missing from the OpenAPI document. They cannot be called.
func UndescribedEndpoints() []openai.Endpoint {
	s := &server{options: Options{Engines: []domain.Engine{""}, EmbeddingModels: []string{""}}, inference: inference.New(inference.Deps{})}
	return s.openAIEndpoints()
}
