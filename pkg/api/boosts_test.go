package api_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBoostsOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.asked()
	for _, path := range queryPaths(s.newDatastore()) {
		for given, want := range map[string]string{
			`null`: `null`,
			`[]`:   `[]`,
			`[{"type":"recency","key":"datasource.changed_at","halfLifeDays":30}]`:  `[{"type":"recency","key":"datasource.changed_at","factor":2,"halfLifeDays":30}]`,
			`[{"type":"number","key":"views","pivot":0.5,"factor":1.5,"max":null}]`: `[{"type":"number","key":"views","factor":1.5,"pivot":0.5}]`,
			`[{"type":"value","key":"draft","value":false,"factor":0.5}]`:           `[{"type":"value","key":"draft","factor":0.5,"value":false}]`,
			`[{"type":"value","key":"year","value":[2025,2026]}]`:                   `[{"type":"value","key":"year","factor":2,"value":[2025,2026]}]`,
		} {
			s.call("POST", path, object{"query": "trial", "boosts": json.RawMessage(given)}).want(200)
			if text, err := json.Marshal(got.Boosts); err != nil || string(text) != want || (got.Boosts == nil) != (given == "null") {
				t.Errorf("%s, %s: the boosts are %s (%v), want %s", path, given, text, err, want)
			}
		}
		for given, want := range map[string]string{
			`[{"type":"decay","key":"k"}]`:                       `boosts[0].type: is "decay"; it must be one of recency, number, value`,
			`[{"type":"value","value":1}]`:                       "boosts[0].key: is required",
			`[{"type":"value","key":"k"}]`:                       "boosts[0].value: is missing; it must be a string, a number, true or false, or an array of them",
			`[{"type":"value","key":"k","value":1,"factor":11}]`: "boosts[0].factor: 11 is above the maximum of 10",
			`[{"type":"value","key":"k","value":1,"pivot":3}]`:   "boosts[0].pivot: is not a field of a value boost",
			`[{"type":"value","key":"k","value":1,"weight":3}]`:  "boosts[0].weight: ",
			`[{"type":"number","key":"k","pivot":"many"}]`:       `boosts[0].pivot: is "many"`,
			`[{"type":"recency","key":"k","halfLifeDays":0}]`:    "boosts[0].halfLifeDays: is 0; it must be a number between",
			`{"type":"value","key":"k","value":1}`:               "boosts: ",
			`[` + strings.Repeat(`{"type":"value","key":"k","value":1},`, 10) + `{"type":"value","key":"k","value":1}]`: "boosts: ",
		} {
			field, message, _ := strings.Cut(want, ": ")
			if fault := s.call("POST", path, object{"query": "trial", "boosts": json.RawMessage(given)}).want(400).fault(field); !strings.HasPrefix(fault, message) || fault == "" {
				t.Errorf("%s, %s: %s is said to be %q, want %q", path, given, field, fault, message)
			}
		}
	}
}
