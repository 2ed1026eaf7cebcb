package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// checkMonitoring parses the alert rules and templates with Prometheus's rule loader, and the dashboard's expressions
// with its expression parser. It returns a summary.
func checkMonitoring(_ context.Context, repo repository, f *faults) string {
	promql := parser.NewParser(parser.Options{})
	rules, expressions := 0, 0
	groups, errs := rulefmt.ParseFile(repo.path("deployments", "prometheus", "alerts.yaml"), false, model.UTF8Validation, promql, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		f.add("%v", err)
	}
	if groups != nil {
		for _, g := range groups.Groups {
			rules += len(g.Rules)
		}
	}
	raw, err := os.ReadFile(repo.path("deployments", "grafana", "sluice.json"))
	if err != nil {
		f.add("%v", err)
		return ""
	}
	var dashboard any
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		f.add("sluice.json: %v", err)
		return ""
	}
	for _, e := range expressionsIn(dashboard, nil) {
		expressions++
		if _, err := promql.ParseExpr(substituteVariables(e)); err != nil {
			f.add("sluice.json: %s: %v", e, err)
		}
	}
	f.require(rules > 0, "alerts.yaml has no rules")
	f.require(expressions > 0, "sluice.json has no expressions")
	return fmt.Sprintf("%d alerts, %d expressions of the dashboard", rules, expressions)
}

// expressionsIn appends the values of all "expr" keys in a JSON document, at any depth.
func expressionsIn(v any, found []string) []string {
	switch v := v.(type) {
	case map[string]any:
		if e, is := v["expr"].(string); is {
			found = append(found, e)
		}
		for _, of := range v {
			found = expressionsIn(of, found)
		}
	case []any:
		for _, of := range v {
			found = expressionsIn(of, found)
		}
	}
	return found
}

var dashboardVariable = regexp.MustCompile(`\$\{?[A-Za-z_]+\}?`)

// substituteVariables replaces an expression's Grafana variables.
func substituteVariables(expression string) string {
	return dashboardVariable.ReplaceAllStringFunc(expression, func(name string) string {
		if name == "$__rate_interval" || name == "$__interval" || name == "$__range" {
			return "5m"
		}
		return "any"
	})
}
