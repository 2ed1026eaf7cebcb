package responses

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// tools are a request's tools and the choice between them.
type tools struct {
	shown     []json.RawMessage // as returned
	functions []chat.Tool
	choice    chat.ToolChoice
	chosen    json.RawMessage // the `tool_choice` parameter, as returned
	search    *fileSearch     // nil if there is none
}

type fileSearch struct {
	stores   []string // vector store ids
	field    string   // the parameter containing them
	results  int
	minScore *float64
	mode     domain.SearchMode
	where    *filter.Filter
}

const (
	toolFunction   = "function"
	toolFileSearch = "file_search"
)

// Limits on the file_search tool. OpenAI documents the maximum number of results.
const (
	maxStores      = 100
	maxResults     = 50
	defaultResults = 20
)

// functionName matches the function names accepted by OpenAI.
var functionName = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)

func readTools(o jsonbody.Object) (t tools) {
	t.shown = []json.RawMessage{}
	for i, tool := range o.Objects("tools", maxTools) {
		switch short(tool, "type") {
		case toolFunction:
			t.readFunction(tool)
		case toolFileSearch:
			if t.search != nil {
				o.Fault(fmt.Sprintf("tools[%d]", i), "is a second file_search tool; send one with all vector_store_ids")
				continue
			}
			t.search = readFileSearch(tool, fmt.Sprintf("tools[%d].vector_store_ids", i))
		default:
			tool.Fault("type", "is %s; the supported tools are file_search and function", jsonbody.Describe(tool.Value("type")))
			continue
		}
		t.shown = append(t.shown, shownTool(tool))
	}
	t.readChoice(o)
	return t
}

// shownTool returns a tool as it appears in responses. Fields omitted from a function become null, because clients
// expect them to be present.
func shownTool(tool jsonbody.Object) json.RawMessage {
	fields := maps.Clone(tool.Fields())
	if fields["type"] == toolFunction {
		for _, name := range []string{"description", "parameters", "strict"} {
			if _, given := fields[name]; !given {
				fields[name] = nil
			}
		}
	}
	return encode(fields)
}

func (t *tools) readFunction(tool jsonbody.Object) {
	f := chat.Tool{Name: short(tool, "name"), Description: valueOf(tool.Text("description", answer.MaxInstructionBytes))}
	if !functionName().MatchString(f.Name) {
		tool.Fault("name", "is %s; it must consist of 1 to 64 letters, digits, _ or -", jsonbody.Describe(tool.Value("name")))
	}
	if slices.ContainsFunc(t.functions, func(other chat.Tool) bool { return other.Name == f.Name }) {
		tool.Fault("name", "is %s, which is also another tool's name; give each function its own name", jsonbody.Describe(f.Name))
	}
	if parameters, ok := tool.Object("parameters"); ok {
		f.Parameters = encode(parameters.Fields())
	}
	if tool.Has("strict") {
		strict := tool.Bool("strict", false)
		f.Strict = &strict
	}
	t.functions = append(t.functions, f)
}

func readFileSearch(tool jsonbody.Object, field string) *fileSearch {
	f := &fileSearch{field: field, results: defaultResults, stores: tool.Strings("vector_store_ids", maxStores)}
	if list, _ := tool.Value("vector_store_ids").([]any); len(list) == 0 && (list != nil || !tool.Has("vector_store_ids")) {
		tool.Fault("vector_store_ids", "is missing or empty; send the ids of the vector stores to search")
	}
	if n := tool.Int("max_num_results", 1, maxResults); n != nil {
		f.results = *n
	}
	if ranking, ok := tool.Object("ranking_options"); ok {
		f.readRanking(ranking)
	}
	f.where = readFilters(tool)
	return f
}

// readRanking reads ranking_options. A weight of 0 turns off keyword or semantic search. Other weights are ignored,
// because this service chooses its own.
func (f *fileSearch) readRanking(o jsonbody.Object) {
	f.minScore = o.Number("score_threshold", 0, 1)
	o.OneOf("ranker", "auto", "none", "default-2024-11-15", "default_2024_08_21")
	weights, ok := o.Object("hybrid_search")
	if !ok {
		return
	}
	const most = 1e6
	meaning, words := weights.Number("embedding_weight", 0, most), weights.Number("text_weight", 0, most)
	noMeaning, noWords := meaning != nil && *meaning == 0, words != nil && *words == 0
	switch {
	case noMeaning && noWords:
		weights.Fault("embedding_weight", "is 0, and so is text_weight; at least one of them must be greater than 0")
	case noMeaning:
		f.mode = domain.SearchLexical
	case noWords:
		f.mode = domain.SearchDense
	}
}

func (t *tools) readChoice(o jsonbody.Object) {
	t.chosen = json.RawMessage(`"auto"`)
	if !o.Has("tool_choice") {
		return
	}
	t.chosen = encode(o.Value("tool_choice"))
	if _, isObject := o.Value("tool_choice").(map[string]any); !isObject {
		t.setMode(o.OneOf("tool_choice", chat.ToolAuto, chat.ToolNone, chat.ToolRequired))
		return
	}
	choice, _ := o.Object("tool_choice")
	switch choice.OneOf("type", toolFunction, toolFileSearch, "allowed_tools") {
	case toolFunction:
		name := short(choice, "name")
		if !slices.ContainsFunc(t.functions, func(f chat.Tool) bool { return f.Name == name }) {
			choice.Fault("name", "is %s, but tools contains no function with this name", jsonbody.Describe(choice.Value("name")))
		}
		t.choice = chat.ToolChoice{Name: name}
	case toolFileSearch:
		if t.search == nil {
			choice.Fault("type", "is \"file_search\", but tools does not contain that tool")
		}
		t.functions = nil // the search always comes first, so the model must then write the answer
	default:
		t.allow(choice)
	}
}

func (t *tools) setMode(mode string) {
	if mode == chat.ToolNone {
		t.search = nil
	}
	if len(t.functions) > 0 {
		t.choice = chat.ToolChoice{Mode: mode}
	}
}

// allow removes the tools not allowed by tool_choice.
func (t *tools) allow(choice jsonbody.Object) {
	var names []string
	search := false
	for _, allowed := range choice.Objects("tools", maxTools) {
		if allowed.OneOf("type", toolFunction, toolFileSearch) == toolFileSearch {
			search = true
		} else {
			names = append(names, short(allowed, "name"))
		}
	}
	t.functions = slices.DeleteFunc(t.functions, func(f chat.Tool) bool { return !slices.Contains(names, f.Name) })
	if !search {
		t.search = nil
	}
	t.setMode(choice.OneOf("mode", chat.ToolAuto, chat.ToolRequired))
}

func readFilters(tool jsonbody.Object) *filter.Filter {
	if !tool.Has("filters") {
		return nil
	}
	where, faults := filter.Parse(tool.Value("filters"), "filters")
	for _, fault := range faults {
		tool.Fault(fault.Field, "%s", fault.Message)
	}
	return where
}
