// Package openai contains what the endpoints of OpenAI's API have in common: describing endpoints, reading bodies and
// list parameters, ids, lists and timestamps. The packages below it implement the endpoints by subject, and pkg/api
// mounts them. OpenAI publishes the description of these endpoints, so the OpenAPI document does not contain them.
//
// Errors need no conversion: an endpoint returns a domain.Error, and pkg/api sends it in OpenAI's format, because the
// path starts with problem.OpenAIPath.
package openai
