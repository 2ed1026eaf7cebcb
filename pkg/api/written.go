package api

import "net/http"

// written is a function that writes a response: a stream, a file, or a body that the generated types would encode
// differently. It implements the response type of each operation that needs it.
type written func(w http.ResponseWriter) error

func (f written) VisitQueryAgentResponse(w http.ResponseWriter) error           { return f(w) }
func (f written) VisitQueryAgentAliasResponse(w http.ResponseWriter) error      { return f(w) }
func (f written) VisitCreateChatCompletionResponse(w http.ResponseWriter) error { return f(w) }
func (f written) VisitGetOriginalResponse(w http.ResponseWriter) error          { return f(w) }
func (f written) VisitGetPictureResponse(w http.ResponseWriter) error           { return f(w) }
func (f written) VisitGetTextResponse(w http.ResponseWriter) error              { return f(w) }
func (f written) VisitExportConversationsResponse(w http.ResponseWriter) error  { return f(w) }
func (f written) VisitWatchDatastoreResponse(w http.ResponseWriter) error       { return f(w) }
func (f written) VisitGetDocsResponse(w http.ResponseWriter) error              { return f(w) }
func (f written) VisitGetOpenAPIResponse(w http.ResponseWriter) error           { return f(w) }
func (f written) VisitQueryDatastoreResponse(w http.ResponseWriter) error       { return f(w) }
func (f written) VisitCreateAgentResponse(w http.ResponseWriter) error          { return f(w) }
func (f written) VisitGetAgentResponse(w http.ResponseWriter) error             { return f(w) }
func (f written) VisitUpdateAgentResponse(w http.ResponseWriter) error          { return f(w) }
func (f written) VisitDeleteAgentResponse(w http.ResponseWriter) error          { return f(w) }
