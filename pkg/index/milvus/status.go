package milvus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error codes returned by servers.
const (
	codeNotReady       = 1
	codeUnavailable    = 2
	codeTooMany        = 4
	codeRateLimited    = 8
	codeNotFound       = 100
	codeNotLoaded      = 101
	codeNotFullyLoaded = 103
)

// serverError is an error reported in a server's response.
type serverError struct {
	method    string
	code      int32
	old       commonpb.ErrorCode
	reason    string
	retryable bool // the server says a retry may help
}

func (e *serverError) Error() string {
	code := e.code
	if code == 0 {
		code = int32(e.old)
	}
	return fmt.Sprintf("the server refused %s with code %d: %s", e.method, code, e.reason)
}

// checkStatus is a gRPC interceptor that turns error statuses into errors. Servers may set a status's old error code,
// its new one, or both, and the SDK ignores the new one.
func checkStatus(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := invoke(ctx, method, req, reply, cc, opts...); err != nil {
		return err
	}
	var st *commonpb.Status
	switch r := reply.(type) {
	case *commonpb.Status:
		st = r
	case *milvuspb.QueryResults:
		st = r.GetStatus()
		r.FieldsData = slices.DeleteFunc(r.FieldsData, emptyArray)
	case interface{ GetStatus() *commonpb.Status }:
		st = r.GetStatus()
	}
	if st.GetCode() == 0 && st.GetErrorCode() == commonpb.ErrorCode_Success { //nolint:staticcheck // old servers set only the deprecated field
		return nil
	}
	return &serverError{
		method: method[lastSlash(method)+1:], code: st.GetCode(), old: st.GetErrorCode(), //nolint:staticcheck // see above
		reason: st.GetReason(), retryable: st.GetRetriable(),
	}
}

// emptyArray reports whether f is an untyped array column. Milvus Lite adds one to responses without rows, and the SDK
// can't read it.
func emptyArray(f *schemapb.FieldData) bool {
	return f.GetType() == schemapb.DataType_Array && f.GetScalars().GetArrayData().GetElementType() == schemapb.DataType_None
}

func lastSlash(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' {
			return i
		}
	}
	return -1
}

// isNotFound reports whether an error means that the collection does not exist.
func isNotFound(err error) bool {
	var e *serverError
	return errors.As(err, &e) && (e.code == codeNotFound || e.code == 0 && e.old == commonpb.ErrorCode_CollectionNotExists)
}

// isNotLoaded reports whether an error means that the collection exists but is not loaded.
func isNotLoaded(err error) bool {
	var e *serverError
	return errors.As(err, &e) && e.code == codeNotLoaded
}

// isPermanent reports whether the server returned a permanent error.
func isPermanent(err error) bool {
	var e *serverError
	return errors.As(err, &e) && !transient(err)
}

// unimplemented reports whether the server does not support the call.
func unimplemented(err error) bool { return status.Code(err) == codes.Unimplemented }

// transient reports whether retrying the call may succeed.
func transient(err error) bool {
	if e, ok := errors.AsType[*serverError](err); ok {
		switch e.code {
		case codeNotReady, codeUnavailable, codeTooMany, codeRateLimited, codeNotFullyLoaded:
			return true
		}
		return e.retryable || e.code == 0 && e.old == commonpb.ErrorCode_RateLimit
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return true
	}
	return false
}
