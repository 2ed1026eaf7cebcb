package milvus

import (
	"context"
	"errors"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestCheckStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status    *commonpb.Status
		wrong     bool
		missing   bool
		unloaded  bool
		transient bool
	}{
		"no status":                         {nil, false, false, false, false},
		"success":                           {&commonpb.Status{}, false, false, false, false},
		"only the new field":                {&commonpb.Status{Code: 65535, Reason: "no"}, true, false, false, false},
		"only the old field":                {&commonpb.Status{ErrorCode: commonpb.ErrorCode_UnexpectedError, Reason: "no"}, true, false, false, false},
		"no collection, by the new field":   {&commonpb.Status{Code: codeNotFound}, true, true, false, false},
		"no collection, by the old field":   {&commonpb.Status{ErrorCode: commonpb.ErrorCode_CollectionNotExists}, true, true, false, false},
		"not loaded":                        {&commonpb.Status{Code: codeNotLoaded}, true, false, true, false},
		"loading":                           {&commonpb.Status{Code: codeNotFullyLoaded}, true, false, false, true},
		"too fast":                          {&commonpb.Status{Code: codeRateLimited}, true, false, false, true},
		"the server says it may be retried": {&commonpb.Status{Code: 500, Retriable: true}, true, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, reply := range map[string]any{"a bare status": c.status, "an answer with a status": &milvuspb.QueryResults{Status: c.status}} {
				err := checkStatus(t.Context(), "/milvus.proto.milvus.MilvusService/Query", nil, reply, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil })
				if (err != nil) != c.wrong || isNotFound(err) != c.missing || isNotLoaded(err) != c.unloaded || transient(err) != c.transient {
					t.Errorf("%s: error %v, missing %v, unloaded %v, transient %v", kind, err, isNotFound(err), isNotLoaded(err), transient(err))
				}
			}
		})
	}
}

func TestTransient_errors_of_the_connection(t *testing.T) {
	t.Parallel()
	for code, want := range map[codes.Code]bool{codes.Unavailable: true, codes.ResourceExhausted: true, codes.DeadlineExceeded: false, codes.Internal: false, codes.Unauthenticated: false} {
		if got := transient(status.Error(code, "x")); got != want {
			t.Errorf("%v: %v, want %v", code, got, want)
		}
	}
	if transient(errors.New("x")) {
		t.Error("an error of this process is repeated")
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][2]int{"v2.3.5-lite": {2, 3}, "2.4.15": {2, 4}, "v2.6.0-rc1": {2, 6}, "3.0": {3, 0}} {
		major, minor, ok := parseVersion(version)
		if !ok || [2]int{major, minor} != want {
			t.Errorf("%q: %d.%d, %v", version, major, minor, ok)
		}
	}
	for _, version := range []string{"", "master-20240101-abcdef", "unknown", "2", "v99999.1"} {
		if _, _, ok := parseVersion(version); ok {
			t.Errorf("%q is taken for a version", version)
		}
	}
}
