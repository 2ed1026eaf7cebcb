// Package client talks to a Sluice over its HTTP API.
//
//	c, err := client.New("http://127.0.0.1:8080", os.Getenv("SLUICE_API_KEY"))
//	store, err := c.CreateDatastore(ctx, client.DatastoreCreate{Name: "Handbook"})
//	_, err = c.UploadFile(ctx, store.Id, "manual.pdf")
//	err = c.Settled(ctx, store.Id, nil)
//	fragments, err := c.QueryDatastore(ctx, store.Id, client.DatastoreQuery{Query: "How long is the warranty?"})
//
// The types and [Endpoints], one method for each operation, are generated from the service's OpenAPI document. Client is what
// programs want on top of it:
//
//   - An answer that is no success is an [*Error] with the service's code, its words and the field that is wrong; see [CodeOf].
//   - What may be repeated is repeated when the service is busy (429), lacks an engine (503), cannot be reached, or when the
//     connection breaks before the answer is there. Retry-After is kept to. POSTs carry an Idempotency-Key, so that what was done
//     is not done twice; see [WithIdempotencyKey]. Searches, which change nothing, need none. A streamed answer is asked for again only while nothing of it was made.
//   - Nothing is waited for without end: a request on whose connection nothing moves is given up, and a context ends
//     it at once. Answers in JSON are bounded; files and exports are streams.
//   - Uploads are streamed, and take as little memory for a gigabyte as for a line.
//
// A Client is safe for concurrent use.
package client
