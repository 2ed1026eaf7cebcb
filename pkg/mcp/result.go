package mcp

import (
	"encoding/json"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// markedResultsVersion is the first protocol version that requires results to be marked as complete. It also recommends
// that results name the server. Versions are dates and can be compared as strings.
const markedResultsVersion = "2026-07-28"

// isMarked reports whether the result for a request with the metadata `meta` must be marked as complete. In
// markedResultsVersion and later, a request's metadata names the protocol version.
func isMarked(meta map[string]any) bool {
	version, _ := meta[sdk.MetaKeyProtocolVersion].(string)
	return version >= markedResultsVersion
}

// emptyResult returns an empty result. If `marked` is true, the result is marked as complete. The SDK has an unexported
// field for this mark and sets it only in its own handlers, so emptyResult sets it by decoding JSON.
func emptyResult(marked bool) *sdk.CallToolResult {
	var result sdk.CallToolResult
	if marked {
		if err := json.Unmarshal([]byte(`{"resultType":"complete"}`), &result); err != nil {
			panic(err) // cannot happen: the JSON is a constant
		}
	}
	return &result
}

// errorResult returns an error as a tool call's result, which models can read.
func errorResult(err error, marked bool) *sdk.CallToolResult {
	result := emptyResult(marked)
	result.SetError(err)
	return result
}

// convertResult converts a call's result to the client's protocol version. If `marked` is true, the result is marked as
// complete.
func convertResult(from *sdk.CallToolResult, marked bool) *sdk.CallToolResult {
	result := emptyResult(marked)
	result.Meta, result.Content, result.StructuredContent, result.IsError = from.Meta, from.Content, from.StructuredContent, from.IsError
	return result
}

func identity(version string) *sdk.Implementation {
	return &sdk.Implementation{Name: "sluice", Title: "Sluice", Version: version}
}

// Call identifies a tool call. FailCall uses it to answer the call with an error, without processing it.
type Call struct {
	id     json.RawMessage
	marked bool
}

// ReadCall parses a message and reports whether it is a tool call.
func ReadCall(message []byte) (call Call, isCall bool) {
	var read struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &read) != nil || read.Method != "tools/call" || len(read.ID) == 0 {
		return Call{}, false
	}
	switch first := read.ID[0]; {
	case first == '"', first == '-', first >= '0' && first <= '9': // ids are strings or numbers
		return Call{id: read.ID, marked: isMarked(read.Params.Meta)}, true
	default:
		return Call{}, false
	}
}

// FailCall answers a tool call with a result that contains the error.
func (h *Handler) FailCall(w http.ResponseWriter, call Call, why error) {
	result := errorResult(why, call.marked)
	if call.marked {
		result.Meta = sdk.Meta{sdk.MetaKeyServerInfo: identity(h.opts.Version)}
	}
	writeMessage(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": call.id, "result": result})
}
