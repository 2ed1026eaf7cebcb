package neighbours

import (
	"encoding/json"
	"strings"
	"testing"
)

func translated(t *testing.T, body string) (string, []string) {
	t.Helper()
	var c conditions
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	f, faults := c.filter()
	var fields []string
	for _, fault := range faults {
		fields = append(fields, fault.Field)
	}
	if f == nil {
		return "", fields
	}
	return f.String(), fields
}

func TestDifysOperatorsAreTranslated(t *testing.T) {
	t.Parallel()
	for operator, want := range map[string]string{
		`"is","value":"a"`:              `{"type":"eq","key":"k","value":"a"}`,
		`"is not","value":"a"`:          `{"type":"ne","key":"k","value":"a"}`,
		`"=","value":"5"`:               `{"type":"eq","key":"k","value":5}`,
		`"≠","value":5`:                 `{"type":"ne","key":"k","value":5}`,
		`">","value":5`:                 `{"type":"gt","key":"k","value":5}`,
		`"<","value":"5.5"`:             `{"type":"lt","key":"k","value":5.5}`,
		`"≥","value":5`:                 `{"type":"gte","key":"k","value":5}`,
		`"≤","value":5`:                 `{"type":"lte","key":"k","value":5}`,
		`"before","value":"2026-05-04"`: `{"type":"lt","key":"k","value":"2026-05-04"}`,
		`"after","value":"2026-05-04"`:  `{"type":"gt","key":"k","value":"2026-05-04"}`,
		`"in","value":["a","b"]`:        `{"type":"in","key":"k","value":["a","b"]}`,
		`"not in","value":["a"]`:        `{"type":"nin","key":"k","value":["a"]}`,
		`"in","value":"a"`:              `{"type":"in","key":"k","value":["a"]}`,
		`"start with","value":"a"`:      `{"type":"prefix","key":"k","value":"a"}`,
		`"contains","value":"a"`:        `{"type":"contains","key":"k","value":"a"}`,
		`"not contains","value":"a"`:    `{"type":"not","filter":{"type":"contains","key":"k","value":"a"}}`,
		`"empty"`:                       `{"type":"exists","key":"k","value":false}`,
		`"not empty","value":null`:      `{"type":"exists","key":"k","value":true}`,
	} {
		got, faults := translated(t, `{"conditions":[{"name":"k","comparison_operator":`+operator+`}]}`)
		if got != `{"type":"and","filters":[`+want+`]}` || len(faults) > 0 {
			t.Errorf("%s: %s, faults %v", operator, got, faults)
		}
	}
	got, faults := translated(t, `{"logical_operator":"or","conditions":[
		{"name":["a","b"],"comparison_operator":"is","value":"x"},{"name":["c"],"comparison_operator":"is","value":"y"}]}`)
	want := `{"type":"or","filters":[{"type":"or","filters":[{"type":"eq","key":"a","value":"x"},{"type":"eq","key":"b","value":"x"}]},{"type":"eq","key":"c","value":"y"}]}`
	if got != want || len(faults) > 0 {
		t.Errorf("%s, faults %v", got, faults)
	}
	for _, body := range []string{`{}`, `{"logical_operator":"and","conditions":[]}`} {
		if got, faults := translated(t, body); got != "" || len(faults) > 0 {
			t.Errorf("%s: %s, faults %v", body, got, faults)
		}
	}
}

func TestFaultsOfConditionsNameDifysFields(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{"logical_operator":"xor","conditions":[{"name":"k","comparison_operator":"is","value":"a"}]}`: "metadata_condition.logical_operator",
		`{"conditions":[{"name":"k","comparison_operator":"end with","value":"a"}]}`:                    "metadata_condition.conditions[0].comparison_operator",
		`{"conditions":[{"name":5,"comparison_operator":"is","value":"a"}]}`:                            "metadata_condition.conditions[0].name",
		`{"conditions":[{"name":[],"comparison_operator":"is","value":"a"}]}`:                           "metadata_condition.conditions[0].name",
		`{"conditions":[{"name":"k","comparison_operator":"is","value":{}}]}`:                           "metadata_condition.conditions[0].value",
		`{"conditions":[{"name":"k","comparison_operator":"is"}]}`:                                      "metadata_condition.conditions[0].value",
	} {
		if got, fields := translated(t, body); got != "" || len(fields) != 1 || fields[0] != field {
			t.Errorf("%s: %s, faults of %v", body, got, fields)
		}
	}
	many := strings.Repeat(`{"name":"k","comparison_operator":"is","value":"a"},`, 101)
	if got, fields := translated(t, `{"conditions":[`+strings.TrimSuffix(many, ",")+`]}`); got != "" || len(fields) == 0 {
		t.Errorf("%d bytes, faults of %v", len(got), fields)
	}
}
