// Package api is the HTTP face of Sluice. The OpenAPI document in this directory is the contract: types and routing are
// generated from it, requests are checked against it before a handler sees them, and the documentation page shows it.
//
// A request passes these steps, in this order, and a handler can rely on all of them:
//
//  1. a request id, metrics, and recovery from panics;
//  2. the Key: who asks, and may they (auth.go);
//  3. the rate limit of the key (ratelimit.go);
//  4. the body and parameters: every fault at once (check.go), so that handlers see only valid values;
//  5. Idempotency-Key: an answer that was given before is given again (idempotency.go).
//
// Every error a handler returns becomes one shape in one place (problem.go).
//
// The handler streams both ways, so the http.Server around it needs ReadHeaderTimeout and IdleTimeout, but neither
// ReadTimeout nor WriteTimeout: the handler itself sets a deadline for every piece that it reads or writes. Streams of
// GET /datastores/{id}/events last until their client leaves or the request's context ends, so a server that shuts down
// cancels its BaseContext, or Shutdown waits for them.
package api
