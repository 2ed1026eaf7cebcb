package rules

import (
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// toolFaults checks that tool_choice names a tool, and that each tool call after the question has a result.
func toolFaults(body map[string]any, messages []any) []domain.FieldError {
	var faults []domain.FieldError
	fault := func(field, format string, args ...any) {
		faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	tools, _ := body["tools"].([]any)
	var names []string
	for i, t := range tools {
		tool, _ := t.(map[string]any)
		function, _ := tool["function"].(map[string]any)
		name, _ := function["name"].(string)
		if name != "" && slices.Contains(names, name) {
			fault(fmt.Sprintf("tools[%d].function.name", i), "is %s, which is also another tool's name; give each tool its own name", jsonbody.Describe(name))
		}
		names = append(names, name)
	}
	switch choice := body["tool_choice"].(type) {
	case string:
		if choice == "required" && len(tools) == 0 {
			fault("tool_choice", "is \"required\", but there are no tools; send tools, or leave it out")
		}
	case map[string]any:
		function, _ := choice["function"].(map[string]any)
		if name, ok := function["name"].(string); ok && !slices.Contains(names, name) {
			fault("tool_choice.function.name", "is %s, but tools contains no tool with this name", jsonbody.Describe(name))
		}
	}
	var open []string // ids of calls without a result
	calls, opened := -1, false
	for i, m := range messages {
		message, _ := m.(map[string]any)
		at := fmt.Sprintf("messages[%d]", i)
		role, _ := message["role"].(string)
		list, _ := message["tool_calls"].([]any)
		if len(list) > 0 && role != string(domain.RoleAssistant) {
			fault(at+".tool_calls", "is in a message with the role %s, but only assistant messages can have tool calls", jsonbody.Describe(role))
			continue
		}
		switch role {
		case "tool":
			id, _ := message["tool_call_id"].(string)
			if n := slices.Index(open, id); n >= 0 {
				open = slices.Delete(open, n, n+1)
			} else if !opened {
				fault(at+".role", "is \"tool\", but no assistant message with tool_calls comes before it")
			} else if id == "" {
				fault(at+".tool_call_id", "is required in tool messages")
			} else {
				fault(at+".tool_call_id", "is %s, but the last assistant message has no call with this id, or the call already has a result", jsonbody.Describe(id))
			}
		case string(domain.RoleUser), string(domain.RoleAssistant):
			if len(open) > 0 {
				fault(fmt.Sprintf("messages[%d].tool_calls", calls), "has no result for the call %s; send a tool message with this tool_call_id", jsonbody.Describe(open[0]))
			}
			open, opened = nil, false
			for _, c := range list {
				call, _ := c.(map[string]any)
				if id, ok := call["id"].(string); ok {
					open = append(open, id)
				}
				calls, opened = i, true
			}
		}
	}
	if len(open) > 0 {
		fault(fmt.Sprintf("messages[%d].tool_calls", calls), "has no result for the call %s; send a tool message with this tool_call_id", jsonbody.Describe(open[0]))
	}
	return faults
}
