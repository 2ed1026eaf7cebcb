package milvus

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

func TestCollectionName_is_safe_and_unique(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^sluice_v1_d\d+_[A-Za-z0-9_]*_[0-9a-f]{16}$`)
	seen := make(map[string]index.Space)
	for _, model := range []string{"", "text-embedding-3-small", "text_embedding_3_small", "Text-Embedding-3-Small", "org/model:v1", "org:model/v1", "模型", "モデル", strings.Repeat("x", 300), strings.Repeat("x", 301), `"; drop`} {
		for _, dimensions := range []int{0, 2, 384, 3072} {
			s := index.Space{DatastoreID: "store", Model: model, Dimensions: dimensions}
			name := collectionName("sluice", s)
			if !safe.MatchString(name) || len(name) > 255 {
				t.Errorf("%+v is called %q", s, name)
			}
			if other, ok := seen[name]; ok {
				t.Errorf("%+v and %+v share the name %q", s, other, name)
			}
			seen[name] = s
		}
	}
}

func TestRowID_orders_rows_by_generation_and_ordinal(t *testing.T) {
	t.Parallel()
	ids := []string{
		rowID("store", "ds", 0, 0), rowID("store", "ds", 1, 2), rowID("store", "ds", 1, 10), rowID("store", "ds", 9, 0),
		rowID("store", "ds", 10, 0), rowID("store", "ds", 1<<63-1, 1<<31-1),
	}
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			t.Errorf("%q does not come before %q", ids[i-1], ids[i])
		}
		if len(ids[i]) != len(ids[0]) {
			t.Errorf("%q and %q differ in length", ids[i], ids[0])
		}
	}
	if id := rowID(strings.Repeat("s", maxDatastoreBytes), strings.Repeat("d", maxDatasourceBytes), 1<<63-1, 1<<31-1); len(id) > maxIDBytes {
		t.Errorf("the longest primary key has %d bytes, more than %d", len(id), maxIDBytes)
	}
}

func TestOpen_names_what_is_wrong_with_its_options(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{"address": {}, "1st": {Address: "localhost:1", Prefix: "1st"}, "a-b": {Address: "localhost:1", Prefix: "a-b"}} {
		if _, err := Open(opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one that names %q", err, name)
		}
	}
}
