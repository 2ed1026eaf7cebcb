package domain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCleanHeaders(t *testing.T) {
	t.Parallel()
	got, faults := CleanHeaders("config.headers", map[string]string{"cookie": " a=1; b=2 ", "AUTHORIZATION": "Basic eA==", "x-api-key": "schlüssel"})
	want := map[string]string{"Cookie": "a=1; b=2", "Authorization": "Basic eA==", "X-Api-Key": "schlüssel"}
	if diff := cmp.Diff(want, got); diff != "" || len(faults) > 0 {
		t.Errorf("faults %v, headers (-want +got):\n%s", faults, diff)
	}
	many := map[string]string{}
	for i := range MaxHeaders + 1 {
		many[fmt.Sprint("X-", i)] = "secret"
	}
	for name, test := range map[string]struct {
		headers map[string]string
		field   string
		says    string
	}{
		"a line break":                {map[string]string{"Cookie": "secret\r\nHost: evil.example"}, "config.headers.Cookie", "line break"},
		"a line feed":                 {map[string]string{"Cookie": "secret\nx"}, "config.headers.Cookie", "line break"},
		"a NUL":                       {map[string]string{"Cookie": "secret\x00"}, "config.headers.Cookie", "control character"},
		"a name with a line break":    {map[string]string{"X: secret\r\nHost": "secret"}, "config.headers.", "not a valid header name"},
		"a name with a space":         {map[string]string{"X Key": "secret"}, "config.headers.X Key", "not a valid header name"},
		"no name":                     {map[string]string{"": "secret"}, "config.headers", "not a valid header name"},
		"a name that is too long":     {map[string]string{strings.Repeat("x", MaxHeaderName+1): "secret"}, "config.headers.x", "not a valid header name"},
		"no value":                    {map[string]string{"Cookie": " "}, "config.headers.Cookie", "empty"},
		"a value that is too long":    {map[string]string{"Cookie": strings.Repeat("s", MaxHeaderValue+1)}, "config.headers.Cookie", "bytes"},
		"too many bytes":              {map[string]string{"A": strings.Repeat("x", MaxHeaderValue), "B": strings.Repeat("x", MaxHeaderValue)}, "config.headers", "in total"},
		"too many headers":            {many, "config.headers", "the limit is 20"},
		"one name in two cases":       {map[string]string{"Cookie": "secret", "cookie": "secret"}, "config.headers.cookie", "twice"},
		"the host":                    {map[string]string{"hOST": "evil.example"}, "config.headers.hOST", "cannot be set"},
		"the crawler's name":          {map[string]string{"User-Agent": "secret"}, "config.headers.User-Agent", "SLUICE_USER_AGENT"},
		"a hop-by-hop header":         {map[string]string{"Transfer-Encoding": "chunked"}, "config.headers.Transfer-Encoding", "connection"},
		"one of a proxy":              {map[string]string{"Proxy-Authorization": "secret"}, "config.headers.Proxy-Authorization", "proxy"},
		"a length":                    {map[string]string{"Content-Length": "5"}, "config.headers.Content-Length", "body"},
		"a forged origin of requests": {map[string]string{"X-Forwarded-For": "127.0.0.1"}, "config.headers.X-Forwarded-For", "proxy"},
		"a condition":                 {map[string]string{"if-none-match": "x"}, "config.headers.if-none-match", "conditional"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := CleanHeaders("config.headers", test.headers)
			if len(faults) != 1 || !strings.HasPrefix(faults[0].Field, test.field) || !strings.Contains(faults[0].Message, test.says) {
				t.Fatalf("the faults are %+v", faults)
			}
			if strings.Contains(faults[0].Message, "secret") {
				t.Errorf("the value is shown: %s", faults[0].Message)
			}
		})
	}
}
