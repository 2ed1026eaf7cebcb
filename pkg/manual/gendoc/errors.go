package main

import (
	"bytes"
	"fmt"

	"github.com/sluice/sluice/pkg/api/problem"
)

const errorsHead = `# Errors

<!-- Generated from pkg/api by go generate; do not edit. -->

Every error of the API has one shape, ` + "`application/problem+json`" + ` (RFC 9457):

` + "```json" + `
{
  "type": "about:blank",
  "title": "Invalid request",
  "status": 400,
  "detail": "temperature: 1.4 is above the maximum of 1",
  "instance": "01a1ff5b-9089-711a-a298-ac51be28ff37",
  "error": "INVALID_REQUEST",
  "errors": [{"field": "temperature", "message": "1.4 is above the maximum of 1"}]
}
` + "```" + `

` + "`error`" + ` is the code for programs, ` + "`detail`" + ` explains the fault and its fix, ` + "`errors`" + ` lists every invalid field, and ` + "`instance`" + ` is the request's id, which also appears in the log. Endpoints in [OpenAI's format](clients.md#errors) use that format for the same errors.

`

const errorsTail = `## Errors in a stream

If an answer fails after its stream has begun, the stream ends with ` + "`data: [ERROR]`" + ` and the reason. The question is not stored in the conversation: ask again.

## Malformed HTTP

Input that is not HTTP is answered with 400 in plain text, headers of more than 64 KiB with 431. The log has no entry.

## Failed datasources

If accepted content turns out to be unreadable, the datasource gets the status ` + "`error`" + `, and its field ` + "`error`" + ` explains the fault and how to fix it.

Temporary causes, such as a model server that is down, are retried for hours. Meanwhile the status is ` + "`pending`" + `, and ` + "`error`" + ` has the cause. ` + "`POST /datasources/{id}/resync`" + ` retries at once. [Troubleshooting](troubleshooting.md) lists common causes.
`

// errorCodes writes the page about error codes, with the meaning and remedy of each.
func errorCodes(b *bytes.Buffer, _ string) error {
	b.WriteString(errorsHead)
	for _, e := range problem.Docs() {
		if e.Meaning == "" || e.Remedy == "" {
			return fmt.Errorf("pkg/api/problem/doc.go does not describe the code %s", e.Code)
		}
		fmt.Fprintf(b, "## %s\n\nStatus %d, “%s”. %s\n\n**Solution.** %s\n\n", e.Code, e.Status, e.Title, e.Meaning, e.Remedy)
	}
	b.WriteString(errorsTail)
	return nil
}
