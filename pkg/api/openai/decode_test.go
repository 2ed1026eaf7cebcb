package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
)

type item struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

type body struct {
	Query *string `json:"query"`
	Items []item  `json:"items"`
	Inner struct {
		Deep *float64 `json:"deep"`
	} `json:"inner"`
	Any json.RawMessage `json:"any"`
}

func decoded(t *testing.T, text string) (body, string, error) {
	t.Helper()
	value, faults := jsonbody.Parse([]byte(text))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	w := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequest(http.MethodPost, "/", nil)
	c.Request.Body = &transfer.Checked{Reader: strings.NewReader(text), Value: value, Raw: []byte(text)}
	var b body
	err := Decode(c, &b)
	return b, w.Header().Get(IgnoredHeader), err
}

func TestUnknownFieldsAreIgnoredAndListed(t *testing.T) {
	t.Parallel()
	b, ignored, err := decoded(t, `{"Query": "case", "query": "x", "new": 1, "items": [{"name": "a", "size": 2, "colour": "red"}], "inner": {"deep": 1.5, "ö": 2}, "any": {"free": 1}}`)
	if err != nil || *b.Query != "x" || len(b.Items) != 1 || b.Items[0] != (item{"a", 2}) || *b.Inner.Deep != 1.5 || string(b.Any) != `{"free":1}` {
		t.Errorf("%+v, %v", b, err)
	}
	if want := "Query, inner.?, items[0].colour, new"; ignored != want {
		t.Errorf("ignored are %q, want %q", ignored, want)
	}
	if b, ignored, err := decoded(t, `{"query": null, "items": null}`); err != nil || b.Query != nil || b.Items != nil || ignored != "" {
		t.Errorf("%+v, %q, %v", b, ignored, err)
	}
}

func TestAValueOfTheWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"query": 7}`:                 "query: is a number; it must be a string",
		`{"items": "x"}`:               "items: is a string; it must be an array",
		`{"items": [{"size": 1.5}]}`:   "items.size: is 1.5; it must be a whole number",
		`{"inner": {"deep": "much"}}`:  "inner.deep: is a string; it must be a number",
		`{"inner": [1]}`:               "inner: is an array; it must be an object",
		`{"items": [true]}`:            "items: is true or false; it must be an object",
		`[]`:                           "body: is an array; send a JSON object",
		`{"items": [{"size": 1e300}]}`: "items.size: is 1e+300; it must be a whole number",
	} {
		_, _, err := decoded(t, text)
		if domain.CodeOf(err) != domain.CodeInvalid || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestPagesAreRead(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]Page{
		"":                               {Limit: 20},
		"limit=100&order=asc&after=x":    {Limit: 100, Ascending: true, After: "x"},
		"limit=1&order=desc&before=file": {Limit: 1, Before: "file"},
	} {
		values, _ := url.ParseQuery(query)
		if got, err := ReadPage(values, DefaultLimit, MaxLimit); err != nil || got != want {
			t.Errorf("%s: %+v, %v", query, got, err)
		}
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=101": "limit", "limit=x": "limit", "limit=99999999999999999999": "limit", "order=up": "order", "after=a&before=b": "before"} {
		values, _ := url.ParseQuery(query)
		_, err := ReadPage(values, DefaultLimit, MaxLimit)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func TestIDsAreReversible(t *testing.T) {
	t.Parallel()
	kind, id := Kind{Prefix: "vs_", Name: "vector store"}, domain.NewID()
	for _, text := range []string{id, kind.ID(id)} {
		if got, err := kind.Parse(text); err != nil || got != id || BareID(text) != id {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "vs_", "file-" + id, "vs_vs_" + id, strings.ToUpper(id), "../" + id[3:]} {
		if _, err := kind.Parse(text); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("%s: %v", text, err)
		}
	}
	list := NewList([]string{"a", "b"}, true, kind.ID)
	if *list.FirstID != "vs_a" || *list.LastID != "vs_b" || !list.HasMore {
		t.Errorf("%+v", list)
	}
	if encoded, err := json.Marshal(NewList(nil, false, kind.ID)); err != nil || string(encoded) != `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}` {
		t.Errorf("%s, %v", encoded, err)
	}
}
