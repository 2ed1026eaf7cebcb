// Package client is a client for Sluice's HTTP API.
//
//	c, err := client.New("http://127.0.0.1:8080", os.Getenv("SLUICE_API_KEY"))
//	store, err := c.CreateDatastore(ctx, client.DatastoreCreate{Name: "Handbook"})
//	_, err = c.UploadFile(ctx, store.Id, "manual.pdf")
//	err = c.Settled(ctx, store.Id, nil)
//	fragments, err := c.QueryDatastore(ctx, store.Id, client.DatastoreQuery{Query: "How long is the warranty?"})
//
// The types and [Endpoints], with one method per operation, are generated from the service's OpenAPI document. Client
// adds:
//
//   - Errors: a failure is an [*Error] with the service's code, message and invalid fields; see [CodeOf].
//   - Retries: idempotent requests are retried if the service is busy (429), lacks an engine (503) or can't be reached,
//     or if the connection breaks before the response arrives. Retry-After is respected. POSTs have an Idempotency-Key,
//     so that nothing is done twice; see [WithIdempotencyKey]. Searches don't need a key, because they change nothing. A
//     streamed answer is no longer retried once text has arrived.
//   - Limits: a request fails if no data is transferred for some minutes, and a context cancels it at once. The size of
//     JSON responses is limited; files and exports are streams.
//   - Streaming uploads, which need little memory for files of any size.
//
// A Client is safe for concurrent use.
package client
