// Package api is Sluice's HTTP API. The OpenAPI document in this directory is its contract: types and routing are
// generated from it, requests are checked against it before they reach a handler, and the documentation page displays
// it.
//
// A request passes through these steps in this order, and handlers can rely on all of them:
//
//  1. a request id, metrics, and recovery from panics;
//  2. the API key: who is calling, and whether the caller may use the operation (auth.go);
//  3. the key's rate limit (access/ratelimit.go);
//  4. validation of parameters and body, with all faults in one error (check.go): handlers see only valid values;
//  5. Idempotency-Key: a repeated request gets the stored answer (package idempotency).
//
// The problem package gives all handler errors the same format.
//
// The handler streams requests and responses. The http.Server around it needs ReadHeaderTimeout and IdleTimeout, but
// must set neither ReadTimeout nor WriteTimeout, because the handler sets its own deadline for every read and write.
// Streams from GET /datastores/{id}/events last until the client disconnects or the request's context is done. When
// shutting down, a server must therefore cancel its BaseContext; otherwise Shutdown waits for these streams.
package api

//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.yaml
//go:generate go run ../manual/gendoc ../..
