package api

import "net/http"

// responseFunc writes a response that the generated types can't: a stream, a file, or a body they'd encode incorrectly.
// It implements every response type that needs this.
type responseFunc func(w http.ResponseWriter) error

func (f responseFunc) VisitQueryAgentResponse(w http.ResponseWriter) error            { return f(w) }
func (f responseFunc) VisitQueryAgentAliasResponse(w http.ResponseWriter) error       { return f(w) }
func (f responseFunc) VisitCreateChatCompletionResponse(w http.ResponseWriter) error  { return f(w) }
func (f responseFunc) VisitGetOriginalResponse(w http.ResponseWriter) error           { return f(w) }
func (f responseFunc) VisitGetPictureResponse(w http.ResponseWriter) error            { return f(w) }
func (f responseFunc) VisitGetTextResponse(w http.ResponseWriter) error               { return f(w) }
func (f responseFunc) VisitExportConversationsResponse(w http.ResponseWriter) error   { return f(w) }
func (f responseFunc) VisitWatchDatastoreResponse(w http.ResponseWriter) error        { return f(w) }
func (f responseFunc) VisitGetDocsResponse(w http.ResponseWriter) error               { return f(w) }
func (f responseFunc) VisitGetOpenAPIResponse(w http.ResponseWriter) error            { return f(w) }
func (f responseFunc) VisitQueryDatastoreResponse(w http.ResponseWriter) error        { return f(w) }
func (f responseFunc) VisitCreateAgentResponse(w http.ResponseWriter) error           { return f(w) }
func (f responseFunc) VisitGetAgentResponse(w http.ResponseWriter) error              { return f(w) }
func (f responseFunc) VisitUpdateAgentResponse(w http.ResponseWriter) error           { return f(w) }
func (f responseFunc) VisitDeleteAgentResponse(w http.ResponseWriter) error           { return f(w) }
func (f responseFunc) VisitGetSearchSettingsResponse(w http.ResponseWriter) error     { return f(w) }
func (f responseFunc) VisitUpdateSearchSettingsResponse(w http.ResponseWriter) error  { return f(w) }
func (f responseFunc) VisitRestoreSearchSettingsResponse(w http.ResponseWriter) error { return f(w) }
