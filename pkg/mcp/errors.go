package mcp

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sluice/sluice/pkg/domain"
)

// codeServer is JSON-RPC's first code for faults of a server's own; what is wrong stands in the message.
const codeServer = -32000

// protocolError is an error of the library as a method other than a tool answers it. Tools answer theirs as results, which
// models read.
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
