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

// Numbers of errors that servers report. They are the same on every server that has been seen.
const (
	codeNotReady       = 1
	codeUnavailable    = 2
	codeTooMany        = 4
	codeRateLimited    = 8
	codeNotFound       = 100
	codeNotLoaded      = 101
	codeNotFullyLoaded = 103
)

// serverError is a refusal that a server has put into its answer.
type serverError struct {
	method string
	code   int32
	old    commonpb.ErrorCode
	reason string
	again  bool // the server says that it may be tried again
}

func (e *serverError) Error() string {
	code := e.code
	if code == 0 {
		code = int32(e.old)
	}
	return fmt.Sprintf("the server refused %s with code %d: %s", e.method, code, e.reason)
}

// checkStatus turns refusals into errors. Answers carry them in two fields: older servers set both or the first one,
// newer ones may set the second one only, which the SDK does not look at.
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
	if st.GetCode() == 0 && st.GetErrorCode() == commonpb.ErrorCode_Success { //nolint:staticcheck // the deprecated field is all that old servers set
		return nil
	}
	return &serverError{
		method: method[lastSlash(method)+1:], code: st.GetCode(), old: st.GetErrorCode(), //nolint:staticcheck // see above
		reason: st.GetReason(), again: st.GetRetriable(),
	}
}

// emptyArray recognises a column that Milvus Lite adds to an answer without rows, whoever asked for it, and that the SDK
// cannot read.
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

// missing reports that the collection does not exist.
func missing(err error) bool {
	var e *serverError
	return errors.As(err, &e) && (e.code == codeNotFound || e.code == 0 && e.old == commonpb.ErrorCode_CollectionNotExists)
}

// unloaded reports that the collection exists and must be loaded before it can be read.
func unloaded(err error) bool {
	var e *serverError
	return errors.As(err, &e) && e.code == codeNotLoaded
}

// refused reports that the server has answered, and not to try it again.
func refused(err error) bool {
	var e *serverError
	return errors.As(err, &e) && !transient(err)
}

// unimplemented reports that the server does not know the call.
func unimplemented(err error) bool { return status.Code(err) == codes.Unimplemented }

// transient reports that the same call may succeed a little later.
func transient(err error) bool {
	var e *serverError
	if errors.As(err, &e) {
		switch e.code {
		case codeNotReady, codeUnavailable, codeTooMany, codeRateLimited, codeNotFullyLoaded:
			return true
		}
		return e.again || e.code == 0 && e.old == commonpb.ErrorCode_RateLimit
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return true
	}
	return false
}
