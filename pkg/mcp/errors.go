package mcp

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sluice/sluice/pkg/domain"
)

// codeServer is the first code in JSON-RPC's range for server-defined errors.
const codeServer = -32000

// protocolError converts an error from the library to a JSON-RPC error, for all methods except tool calls. Tools return
// errors as results, which models can read.
func protocolError(err error) error {
	var e *domain.Error
	if !errors.As(err, &e) {
		return err
	}
	code := int64(codeServer)
	if e.Code == domain.CodeInvalid || e.Code == domain.CodeNotFound {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: e.Message}
}
