package milvus

import (
	"context"
	"testing"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

func TestTable_refuses_columns_that_lack_values(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  answer
		read func(*table)
		ok   bool
	}{
		"as many as rows":        {answer{varChars("a", []string{"x", "y"}), int64s("b", []int64{1, 2})}, func(t *table) { t.texts("a"); t.numbers("b") }, true},
		"a short column":         {answer{varChars("a", []string{"x", "y"}), int64s("b", []int64{1})}, func(t *table) { t.numbers("b") }, false},
		"another type":           {answer{varChars("a", []string{"x"})}, func(t *table) { t.numbers("a") }, false},
		"no such column":         {answer{varChars("a", []string{"x"})}, func(t *table) { t.texts("b") }, false},
		"vectors of all rows":    {answer{int64s("b", []int64{1, 2}), floatVectors("v", 2, [][]float32{{1, 2}, {3, 4}})}, func(t *table) { t.vectors("v") }, true},
		"too few vectors":        {answer{int64s("b", []int64{1, 2}), floatVectors("v", 2, [][]float32{{1, 2}})}, func(t *table) { t.vectors("v") }, false},
		"no dimensions":          {answer{int64s("b", []int64{1}), floatVectors("v", 0, [][]float32{{1}})}, func(t *table) { t.vectors("v") }, false},
		"too few sparse vectors": {answer{int64s("b", []int64{1, 2}), sparseVectors("v", []sparseVector{nil})}, func(t *table) { t.sparse("v") }, false},
		"documents":              {answer{int64s("b", []int64{1}), jsons("d", [][]byte{[]byte("{}")})}, func(t *table) { t.documents("d") }, true},
		"nothing in a column":    {answer{&schemapb.FieldData{FieldName: "a"}}, func(t *table) { t.texts("a") }, false},
	} {
		read := &table{set: c.set}
		if c.read(read); (read.err == nil) != c.ok {
			t.Errorf("%s: %v", name, read.err)
		}
	}
}

func TestAddress_names_host_database_and_encryption(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct {
		host, database string
		encrypted      bool
	}{
		"localhost:19530":          {"localhost:19530", "", false},
		"http://milvus:19530/mine": {"milvus:19530", "mine", false},
		"https://milvus.example":   {"milvus.example:443", "", true},
	} {
		x := &Index{opts: Options{Address: address}}
		host, database, encrypted, err := x.address()
		if err != nil || host != want.host || database != want.database || encrypted != want.encrypted {
			t.Errorf("%s: %s, %q, %v, %v", address, host, database, encrypted, err)
		}
	}
	for _, address := range []string{"http://", "a b:1"} {
		if _, _, _, err := (&Index{opts: Options{Address: address}}).address(); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

func TestIdentify_says_who_asks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts Options
		want string
	}{
		"a user":  {Options{Username: "u", Password: "p"}, "dTpw"},
		"a token": {Options{Token: "t"}, "dA=="},
		"nobody":  {Options{}, ""},
	} {
		err := (&Index{opts: c.opts}).identify("base")(t.Context(), "m", nil, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			sent, _ := metadata.FromOutgoingContext(ctx)
			got := ""
			if values := sent.Get("authorization"); len(values) > 0 {
				got = values[0]
			}
			if got != c.want || len(sent.Get("dbname")) != 1 {
				t.Errorf("%s: sent %v", name, sent)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
