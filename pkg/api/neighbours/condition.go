package neighbours

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
)

// conditions are Dify's conditions on a document's metadata.
type conditions struct {
	Operator   string      `json:"logical_operator"` // "and" if empty
	Conditions []condition `json:"conditions"`
}

type condition struct {
	Name     any    `json:"name"` // a key, or an array of keys, one of which must match
	Operator string `json:"comparison_operator"`
	Value    any    `json:"value"`
}

const conditionField = "metadata_condition"

// operators maps Dify's comparison operators to the equivalent ones in package filter.
var operators = map[string]filter.Op{
	"is": filter.Eq, "=": filter.Eq, "is not": filter.Ne, "≠": filter.Ne, "!=": filter.Ne,
	">": filter.Gt, "≥": filter.Gte, ">=": filter.Gte, "<": filter.Lt, "≤": filter.Lte, "<=": filter.Lte,
	"after": filter.Gt, "before": filter.Lt, "in": filter.In, "not in": filter.Nin,
	"start with": filter.Prefix, "contains": filter.Contains,
}

// numeric lists the operators that compare numbers. Dify may send the numbers as strings.
var numeric = []string{"=", "≠", "!=", ">", "≥", ">=", "<", "≤", "<="}

// filter converts the conditions to a filter or returns their faults. The receiver may be nil.
func (c *conditions) filter() (*filter.Filter, []domain.FieldError) {
	if c == nil || len(c.Conditions) == 0 {
		return nil, nil
	}
	var faults []domain.FieldError
	operator := strings.ToLower(c.Operator)
	if operator == "" {
		operator = string(filter.And)
	}
	if operator != string(filter.And) && operator != string(filter.Or) {
		faults = append(faults, domain.FieldError{Field: conditionField + ".logical_operator", Message: fmt.Sprintf("is %s; it must be \"and\" or \"or\"", jsonbody.Describe(c.Operator))})
	}
	all := make([]any, len(c.Conditions))
	for i, one := range c.Conditions {
		translated, fault := one.translate()
		if fault != nil {
			fault.Field = fmt.Sprintf("%s.conditions[%d].%s", conditionField, i, fault.Field)
			faults = append(faults, *fault)
		}
		all[i] = translated
	}
	if len(faults) > 0 {
		return nil, faults
	}
	found, faults := filter.Parse(map[string]any{"type": operator, "filters": all}, conditionField)
	for i, f := range faults { // they name fields in the translation
		faults[i].Field = strings.Replace(f.Field, conditionField+".filters[", conditionField+".conditions[", 1)
	}
	return found, faults
}

// translate converts the condition to a JSON object for package filter. A fault's field is relative to the condition.
func (c condition) translate() (map[string]any, *domain.FieldError) {
	names, isList := c.Name.([]any)
	if !isList {
		names = []any{c.Name}
	}
	var each []any
	for _, n := range names {
		name, isText := n.(string)
		if !isText || name == "" {
			return nil, &domain.FieldError{Field: "name", Message: fmt.Sprintf("is %s; it must be the name of a metadata field", jsonbody.Describe(n))}
		}
		one, fault := c.on(name)
		if fault != nil {
			return nil, fault
		}
		each = append(each, one)
	}
	switch len(each) {
	case 0:
		return nil, &domain.FieldError{Field: "name", Message: "is empty; it must be the name of a metadata field"}
	case 1:
		return each[0].(map[string]any), nil
	}
	return map[string]any{"type": "or", "filters": each}, nil
}

func (c condition) on(key string) (map[string]any, *domain.FieldError) {
	switch c.Operator {
	case "empty", "null":
		return map[string]any{"type": string(filter.Exists), "key": key, "value": false}, nil
	case "not empty", "not null":
		return map[string]any{"type": string(filter.Exists), "key": key, "value": true}, nil
	case "not contains":
		return map[string]any{"type": string(filter.Not), "filter": map[string]any{"type": string(filter.Contains), "key": key, "value": c.Value}}, nil
	}
	op, known := operators[c.Operator]
	if !known {
		var names []string
		for name := range operators {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, &domain.FieldError{Field: "comparison_operator", Message: fmt.Sprintf("is %s, which is not supported; use one of: %s, not contains, empty, not empty",
			jsonbody.Describe(c.Operator), strings.Join(names, ", "))}
	}
	value := c.Value
	if text, isText := value.(string); isText && slices.Contains(numeric, c.Operator) {
		if number, err := strconv.ParseFloat(text, 64); err == nil {
			value = number
		}
	}
	if _, isList := value.([]any); !isList && (op == filter.In || op == filter.Nin) {
		value = []any{value}
	}
	return map[string]any{"type": string(op), "key": key, "value": value}, nil
}
