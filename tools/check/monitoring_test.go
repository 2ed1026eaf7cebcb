package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatPrometheusWouldNotLoadIsAFault(t *testing.T) {
	const rules, dashboard = "deployments/prometheus/alerts.yaml", "deployments/grafana/sluice.json"
	for name, c := range map[string]struct{ file, from, to, want string }{
		"nothing":                          {},
		"a duration of no unit":            {rules, "for: 2m", "for: 2mm", "2mm"},
		"an expression that does not end":  {rules, "absent(sluice_http_requests_in_flight)", "absent(sluice_http_requests_in_flight", "unclosed"},
		"a rate of no range":               {rules, "sluice_http_requests_total[5m]", "sluice_http_requests_total", "range vector"},
		"a function that no template has":  {rules, "humanizePercentage", "humanizePercent", "humanizePercent"},
		"a field that no rule has":         {rules, "expr:", "expression:", "expression"},
		"a dashboard that is no JSON":      {dashboard, "{", "", "sluice.json"},
		"an expression of the dashboard":   {dashboard, `"expr": "`, `"expr": "sum((`, "sum(("},
		"a dashboard without expressions":  {dashboard, `"expr":`, `"expression":`, "no expressions"},
		"an alert file without any groups": {rules, "groups:", "group:", "alerts.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, file := range []string{rules, dashboard} {
				raw, err := os.ReadFile(filepath.Join("../..", file))
				if err != nil {
					t.Fatal(err)
				}
				if file == c.file {
					changed := strings.ReplaceAll(string(raw), c.from, c.to)
					if changed == string(raw) {
						t.Fatalf("%s has no %q", file, c.from)
					}
					raw = []byte(changed)
				}
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, file), raw, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var f faults
			checkMonitoring(context.Background(), repository{root: root}, &f)
			if c.want == "" {
				if len(f) > 0 {
					t.Errorf("faults of what is there: %q", []string(f))
				}
				return
			}
			wantFault(t, f, c.want)
		})
	}
}
