// Package openai contains what the endpoints of OpenAI's API share: endpoint descriptions, request bodies, list
// parameters, ids, lists and timestamps. Its subpackages implement the endpoints by subject, and pkg/api mounts them.
// OpenAI publishes these endpoints' description, so they aren't in the OpenAPI document.
//
// Errors need no conversion: an endpoint returns a domain.Error, and pkg/api sends it in OpenAI's format, because the
// path starts with problem.OpenAIPath.
package openai
