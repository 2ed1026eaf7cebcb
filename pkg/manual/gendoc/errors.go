package main

import (
	"bytes"
	"fmt"

	"github.com/sluice/sluice/pkg/api"
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

` + "`error`" + ` is the code that programs go by, ` + "`detail`" + ` says what is wrong and the way out, ` + "`errors`" + ` names every fault of a request,
and ` + "`instance`" + ` is the request's id, which the log has, too. Endpoints in [OpenAI's form](clients.md) put the same into that form.

`

const errorsTail = `## In a stream

What fails before the first byte of an answer is one of the errors above. After it, the stream carries a line ` + "`data: [ERROR]`" + ` with the
reason, and ends; the question is not kept in the conversation. Ask again.

## Without a request

What is not HTTP is answered 400, and headers of more than 64 KiB 431, in a line of plain text, and the connection is closed: there is no request that an
error could tell of, and none in the log.

## Of a datasource

What was accepted can still turn out to be unreadable. Such a datasource has the status ` + "`error`" + `, and its ` + "`error`" + ` says in words what is wrong with
the content and what to do; what was searchable of it before stays so. A cause that may pass (a model server that is away, a host that does
not answer) is tried again for hours first, and ` + "`error`" + ` says so meanwhile, while the status is ` + "`pending`" + `. ` + "`POST /datasources/{id}/resync`" + ` tries at once.
[Troubleshooting](troubleshooting.md) has the usual ones.
`

// errorCodes writes what each code means.
func errorCodes(b *bytes.Buffer, _ string) error {
	b.WriteString(errorsHead)
	for _, e := range api.ErrorDocs() {
		if e.Meaning == "" || e.Remedy == "" {
			return fmt.Errorf("the code %s has no words in pkg/api/errordoc.go", e.Code)
		}
		fmt.Fprintf(b, "## %s\n\nStatus %d, “%s”. %s\n\n**What to do.** %s\n\n", e.Code, e.Status, e.Title, e.Meaning, e.Remedy)
	}
	b.WriteString(errorsTail)
	return nil
}
