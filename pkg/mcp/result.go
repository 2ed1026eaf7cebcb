package mcp

import (
	"encoding/json"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// marksResults is the first version of the protocol whose results must say that they are complete, and should say whose
// they are. Versions are dates, and compare as texts.
const marksResults = "2026-07-28"

// isMarked reports whether the result of a request must be marked. Requests of the versions that want it name their version,
// with these metadata.
func isMarked(meta map[string]any) bool {
	version, _ := meta[sdk.MetaKeyProtocolVersion].(string)
	return version >= marksResults
}

// emptyResult is the result of a call before anything is in it. The SDK marks what its own handlers return, and has no
// other way to a mark than to read one.
func emptyResult(marked bool) *sdk.CallToolResult {
	var result sdk.CallToolResult
	if marked {
		if err := json.Unmarshal([]byte(`{"resultType":"complete"}`), &result); err != nil {
			panic(err) // the text is this package's own
		}
	}
	return &result
}

// failed is an error as the result of a call, which models read.
func failed(err error, marked bool) *sdk.CallToolResult {
	result := emptyResult(marked)
	result.SetError(err)
	return result
}

// passedBack is the result of a call in the form of the version of who is to have it, whatever version it came by.
func passedBack(from *sdk.CallToolResult, marked bool) *sdk.CallToolResult {
	result := emptyResult(marked)
	result.Meta, result.Content, result.StructuredContent, result.IsError = from.Meta, from.Content, from.StructuredContent, from.IsError
	return result
}

// identity is what the server calls itself.
func identity(version string) *sdk.Implementation {
	return &sdk.Implementation{Name: "sluice", Title: "Sluice", Version: version}
}

// Call is what must be known of a message that calls a tool to answer it without serving it.
type Call struct {
	id     json.RawMessage
	marked bool
}

// ReadCall reads a message, and reports whether it calls a tool.
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
	case first == '"', first == '-', first >= '0' && first <= '9': // ids are texts or numbers
		return Call{id: read.ID, marked: isMarked(read.Params.Meta)}, true
	default:
		return Call{}, false
	}
}

// FailCall answers a call of a tool with why it was not made, as the call's result.
func (h *Handler) FailCall(w http.ResponseWriter, call Call, why error) {
	result := failed(why, call.marked)
	if call.marked {
		result.Meta = sdk.Meta{sdk.MetaKeyServerInfo: identity(h.opts.Version)}
	}
	writeMessage(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": call.id, "result": result})
}
