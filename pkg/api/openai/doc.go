// Package openai contains what OpenAI-compatible endpoints have in common: endpoint descriptions, request bodies, list
// parameters, ids, lists and timestamps. Its subpackages implement the endpoints by subject, and pkg/api mounts them.
// OpenAI itself documents these endpoints, so they aren't in the OpenAPI document.
//
// Errors need no conversion: an endpoint returns a domain.Error, and pkg/api sends it in OpenAI's format, because the
// path starts with problem.OpenAIPath.
package openai
