package notebook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

const (
	maxOutputs     = 100      // maximum number of results per cell
	maxOutputBytes = 16 << 10 // maximum size of a printed text in bytes
	maxOutputPage  = 1 << 20  // maximum size of an HTML result, in bytes; larger results are read as text
)

// output is a result in any version of the format. Before version 4, the values are in the result itself rather than in
// a separate data object, and their keys are abbreviated.
type output struct {
	Type  lines                      `json:"output_type"`
	Text  lines                      `json:"text"`
	Data  map[string]json.RawMessage `json:"data"`
	Name  lines                      `json:"ename"`
	Value lines                      `json:"evalue"`
	HTML  lines                      `json:"html"`
	PNG   json.RawMessage            `json:"png"`
	JPEG  json.RawMessage            `json:"jpeg"`
	SVG   json.RawMessage            `json:"svg"`
}

// outputs reads a code cell's results: tables and text, but no images.
func (r *reader) outputs(all []json.RawMessage) error {
	if len(all) > maxOutputs {
		r.p.Out.Warn(fmt.Sprintf("a cell has more than %d outputs; the rest were skipped", maxOutputs))
		all = all[:maxOutputs]
	}
	var printed strings.Builder // consecutive chunks of printed text
	flush := func() error {
		text := printed.String()
		printed.Reset()
		return r.printed(text)
	}
	for _, raw := range all {
		var o output
		if json.Unmarshal(raw, &o) != nil {
			continue // the result has keys with values of other types
		}
		if o.Type == "stream" {
			if printed.Len() <= maxOutputBytes {
				printed.WriteString(string(o.Text))
			}
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if err := r.result(o); err != nil {
			return err
		}
	}
	return flush()
}

// result reads one result in its most useful form. Most values have only plain text. Data frames also have HTML, and
// only the HTML preserves their tables, so HTML is preferred. If a result has an image, its plain text is just a name
// for the image and is skipped.
func (r *reader) result(o output) error {
	if o.Type == "error" || o.Type == "pyerr" {
		return r.printed(strings.TrimSpace(string(o.Name) + ": " + string(o.Value)))
	}
	page, markdown, text, image := o.HTML, lines(""), o.Text, o.PNG != nil || o.JPEG != nil || o.SVG != nil
	for kind, value := range o.Data {
		var content lines
		_ = json.Unmarshal(value, &content) // never fails
		switch {
		case kind == format.TypeHTML:
			page = content
		case kind == format.TypeMarkdown:
			markdown = content
		case kind == format.TypeText:
			text = content
		case strings.HasPrefix(kind, "image/"), strings.HasPrefix(kind, "application/vnd."), kind == "application/javascript":
			image = true
		}
	}
	switch {
	case markdown != "" && len(markdown) <= maxOutputBytes:
		return r.p.Piece(format.TypeMarkdown, strings.NewReader(string(markdown)))
	case page != "" && len(page) <= maxOutputPage && !isScript(string(page)):
		return r.p.Piece(format.TypeHTML, strings.NewReader(string(page)))
	case image && len(text) < 200:
		return nil
	}
	return r.printed(string(text))
}

// isScript reports whether an HTML result consists of scripts, as interactive charts do.
func isScript(page string) bool {
	return strings.Contains(page, "<script") && !strings.Contains(page, "<table")
}

// control matches escape sequences for terminals, such as colours.
var control = lazyregexp.New(`\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07`)

// printed emits a program's output as a terminal would show it. If a line was overwritten, as with a progress bar, only
// the last version remains.
func (r *reader) printed(text string) error {
	if len(text) > maxOutputBytes {
		text = format.Cut(text, maxOutputBytes)
		r.p.Out.Warn("printed output was cut off after " + format.SizeText(maxOutputBytes))
	}
	text = strings.ReplaceAll(control().ReplaceAllString(text, ""), "\r\n", "\n")
	if strings.Contains(text, "\r") {
		kept := strings.Split(text, "\n")
		for i, line := range kept {
			line = strings.TrimRight(line, "\r")
			kept[i] = line[strings.LastIndexByte(line, '\r')+1:]
		}
		text = strings.Join(kept, "\n")
	}
	return r.p.Out.Add(domain.Block{Kind: domain.BlockCode, Text: text})
}
