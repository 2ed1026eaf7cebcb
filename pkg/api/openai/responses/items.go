package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

// Limits on items.
const (
	maxInputItems = 1000
	maxParts      = 1000
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
	roleDeveloper = "developer"
)

// item is an item from the input or from an earlier response.
type item struct {
	kind   string
	field  string // parameter that contains the item; "" for an earlier one
	role   string // message role
	text   string // text of a message; a function call's arguments or result
	callID string
	name   string         // function name
	id     string         // id of the referenced item
	fields map[string]any // the item as stored
}

// readInput reads the `input` parameter: a text or an array of items.
func readInput(o jsonbody.Object) []item {
	switch input := o.Value("input").(type) {
	case nil:
		o.Fault("input", "is required; send a string or an array of items")
		return nil
	case string:
		return []item{message("input", roleUser, input, []any{map[string]any{"type": "input_text", "text": input}})}
	default:
		return readItems(o, "input", maxInputItems)
	}
}

func readItems(o jsonbody.Object, name string, limit int) []item {
	var items []item
	for i, object := range o.Objects(name, limit) {
		items = append(items, readItem(object, fmt.Sprintf("%s[%d]", name, i)))
	}
	return items
}

func message(field, role, text string, content []any) item {
	return item{kind: object.TypeMessage, field: field, role: role, text: text, fields: map[string]any{
		"type": object.TypeMessage, "role": role, "status": object.ItemCompleted, "content": content,
	}}
}

// readItem reads an item. An item without a type is a reference if it has an id but no role; otherwise it is a message.
func readItem(o jsonbody.Object, field string) item {
	kind := short(o, "type")
	if kind == "" && o.Has("id") && !o.Has("role") {
		kind = object.TypeReference
	}
	switch kind {
	case "", object.TypeMessage:
		role := o.OneOf("role", roleUser, roleAssistant, roleSystem, roleDeveloper)
		text, content := readContent(o, role)
		return message(field, role, text, content)
	case object.TypeFunctionCall:
		i := item{kind: kind, field: field, callID: required(o, "call_id"), name: required(o, "name"), text: valueOf(o.Text("arguments", maxText))}
		i.fields = map[string]any{"type": kind, "status": object.ItemCompleted, "call_id": i.callID, "name": i.name, "arguments": i.text}
		return i
	case object.TypeFunctionOutput:
		i := item{kind: kind, field: field, callID: required(o, "call_id"), text: readOutput(o)}
		i.fields = map[string]any{"type": kind, "status": object.ItemCompleted, "call_id": i.callID, "output": i.text}
		return i
	case object.TypeReference:
		return item{kind: kind, field: field, id: required(o, "id")}
	case object.TypeFileSearchCall, object.TypeReasoning:
		return item{kind: kind, field: field, fields: o.Fields()} // clients send back a response's whole output
	default:
		o.Fault("type", "is %s; items can be message, function_call, function_call_output, file_search_call, reasoning and item_reference", jsonbody.Describe(kind))
		return item{kind: kind, field: field}
	}
}

func required(o jsonbody.Object, name string) string {
	text := short(o, name)
	if text == "" && (!o.Has(name) || o.Value(name) == "") {
		o.Fault(name, "is required")
	}
	return text
}

// readContent returns a message's text, and its parts in their stored format.
func readContent(o jsonbody.Object, role string) (string, []any) {
	stored := "input_text"
	if role == roleAssistant {
		stored = "output_text"
	}
	part := func(text string) any {
		p := map[string]any{"type": stored, "text": text}
		if role == roleAssistant {
			p["annotations"], p["logprobs"] = []any{}, []any{}
		}
		return p
	}
	if text, isText := o.Value("content").(string); isText {
		return text, []any{part(text)}
	}
	if !o.Has("content") {
		o.Fault("content", "is required; send a string or an array of parts")
	}
	var texts []string
	content := []any{}
	for _, p := range o.Objects("content", maxParts) {
		if text, ok := readPart(p); ok {
			texts, content = append(texts, text), append(content, part(text))
		}
	}
	return strings.Join(texts, "\n"), content
}

func readPart(p jsonbody.Object) (text string, ok bool) {
	name := "text"
	switch kind := short(p, "type"); kind {
	case "input_text", "output_text", "text":
	case "refusal":
		name = kind
	case "input_file":
		p.Fault("type", "is \"input_file\", which is not supported; add the file to a vector store and use the tool file_search")
		return "", false
	default:
		p.Fault("type", "is %s; messages can contain text only (input_text)", jsonbody.Describe(p.Value("type")))
		return "", false
	}
	if !p.Has(name) {
		p.Fault(name, "is required")
	}
	return valueOf(p.Text(name, maxText)), true
}

// readOutput returns a function call's result: a text or an array of parts.
func readOutput(o jsonbody.Object) string {
	if !o.Has("output") {
		o.Fault("output", "is required; send the function's result as a string")
	}
	if text, isText := o.Value("output").(string); isText {
		return text
	}
	var texts []string
	for _, p := range o.Objects("output", maxParts) {
		if text, ok := readPart(p); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// storedItem parses a stored item. Only messages, function calls and their results have text.
func storedItem(raw json.RawMessage) item {
	var v struct {
		Type, Role, Name, Arguments, Output string
		CallID                              string `json:"call_id"`
		Content                             []struct{ Text string }
	}
	if json.Unmarshal(raw, &v) != nil { // cannot happen, because this service has written it
		return item{}
	}
	i := item{kind: v.Type, role: v.Role, callID: v.CallID, name: v.Name}
	switch v.Type {
	case object.TypeMessage:
		texts := make([]string, len(v.Content))
		for n, part := range v.Content {
			texts[n] = part.Text
		}
		i.text = strings.Join(texts, "\n")
	case object.TypeFunctionCall:
		i.text = v.Arguments
	case object.TypeFunctionOutput:
		i.text = v.Output
	}
	return i
}

// dialogue is a list of items split into the question, the messages before it and the function calls after it.
type dialogue struct {
	question     string
	field        string // parameter that contains the question; "input" if it is an earlier message
	before       []domain.Message
	after        []chat.Turn
	instructions string
}

func callTurn(i item) chat.Turn {
	return chat.Turn{Role: domain.RoleAssistant, Calls: []chat.ToolCall{{ID: i.callID, Name: i.name, Arguments: i.text}}}
}

// readDialogue reads a conversation's items, oldest first. The user's last message is the question.
func readDialogue(items []item) (d dialogue, err error) {
	var instructions []string
	var faults []domain.FieldError
	fault := func(i item, format string, args ...any) {
		field := i.field
		if field == "" {
			field = "input"
		}
		faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	open := map[string]item{}  // function calls since the question that have no result yet
	known := map[string]item{} // all function calls that have no result yet
	answered := false          // whether the last message is the assistant's
	for _, i := range items {
		switch {
		case i.kind == object.TypeFunctionCall:
			d.after = append(d.after, callTurn(i))
			open[i.callID], known[i.callID] = i, i
		case i.kind == object.TypeFunctionOutput:
			call, isKnown := known[i.callID]
			if !isKnown {
				fault(i, "has the call_id %s, but no function call with this id comes before it", jsonbody.Describe(i.callID))
			} else if _, isOpen := open[i.callID]; !isOpen { // a user message came between the call and its result
				d.after = append(d.after, callTurn(call))
			}
			delete(open, i.callID)
			delete(known, i.callID)
			d.after, answered = append(d.after, chat.Turn{Role: domain.RoleUser, Text: i.text, ResultOf: i.callID}), false
		case i.kind != object.TypeMessage || strings.TrimSpace(i.text) == "":
		case i.role == roleAssistant:
			d.before, answered = append(d.before, domain.Message{Role: domain.RoleAssistant, Text: i.text}), true
		case i.role == roleUser:
			d.before = append(d.before, domain.Message{Role: domain.RoleUser, Text: i.text})
			d.field, d.after, answered = i.field, nil, false
			clear(open)
		default:
			instructions = append(instructions, i.text)
		}
	}
	d.instructions = strings.Join(instructions, "\n\n")
	if n := len(d.instructions); n > answer.MaxInstructionBytes {
		fault(item{}, "contains %d bytes of system messages; the limit is %s", n, jsonbody.ByteSize(answer.MaxInstructionBytes))
	}
	for _, call := range open {
		fault(call, "calls the function %s, but there is no function_call_output with the call_id %s", jsonbody.Describe(call.name), jsonbody.Describe(call.callID))
	}
	last := len(d.before) - 1
	for last >= 0 && d.before[last].Role == domain.RoleAssistant {
		last--
	}
	switch {
	case last < 0:
		fault(item{}, "contains no user message; the last user message is the question to answer")
	case answered:
		fault(item{}, "ends with an assistant message; add a user message")
	}
	if err := problem.Invalid(faults); err != nil {
		return d, err
	}
	// Text that the assistant wrote along with function calls is part of the same message.
	for _, said := range slices.Backward(d.before[last+1:]) {
		if len(d.after) > 0 && len(d.after[0].Calls) > 0 {
			d.after[0].Text = strings.TrimSpace(said.Text + "\n" + d.after[0].Text)
		}
	}
	d.question, d.before = d.before[last].Text, d.before[:last]
	d.after = joinCalls(d.after)
	return d, nil
}

// joinCalls merges consecutive function call turns into one, as the model wrote them.
func joinCalls(turns []chat.Turn) []chat.Turn {
	var out []chat.Turn
	for _, t := range turns {
		if last := len(out) - 1; last >= 0 && len(t.Calls) > 0 && len(out[last].Calls) > 0 {
			out[last].Calls = append(out[last].Calls, t.Calls...)
			continue
		}
		out = append(out, t)
	}
	return out
}
