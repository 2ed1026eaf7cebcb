// Package openai contains what the endpoints of OpenAI's API share: the description of an endpoint, the reading of
// bodies and list parameters, ids, lists and timestamps. The packages below it implement the endpoints by subject, and
// pkg/api mounts them. OpenAI publishes the description of these endpoints, so the OpenAPI document does not contain
// them.
//
// Errors need no conversion: an endpoint returns a domain.Error, and pkg/api sends it in OpenAI's form, because the
// path starts with problem.OpenAIPath.
package openai
