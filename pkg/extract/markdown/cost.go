package markdown

import "strings"

// Limits on the Markdown parser's work. For each line, the parser checks every open block, and wherever a link may
// begin, it searches for the end of the address. So parsing a crafted file of a few hundred kilobytes could take
// minutes and gigabytes. The limits count steps that take one or two nanoseconds each, and estimates err on the high
// side. Ordinary documents need less than a hundredth of these limits.
const (
	maxOpenBlocks = 500_000     // maximum number of open blocks beyond maxFreeBlocks, summed over all lines
	maxFreeBlocks = 32          // open blocks per line that are not counted
	maxLookahead  = 100_000_000 // maximum number of bytes to search for closing brackets and quotation marks
)

// tooExpensive returns the reason why a Markdown text is too expensive to parse, or "".
func tooExpensive(text string) string {
	open, blocks, ahead, references := 0, 0, 0, 0
	blank := true
	for line := range strings.Lines(text) {
		inner := strings.TrimSpace(line)
		if inner == "" {
			blank, references = true, 0
			continue
		}
		if markers, indent := containers(line); markers > 0 {
			open = indent/2 + markers
		} else if blank {
			open = min(open, indent/2+1)
		}
		blank = false
		if blocks += max(0, open-maxFreeBlocks); blocks > maxOpenBlocks {
			return "lists or quotes are nested too deeply"
		}
		if inner[0] == '[' && strings.Contains(inner, "]:") {
			references++ // the parser first reads all references as one paragraph and then removes them one by one
			ahead += references
		}
		if len(inner) < 1<<10 && ahead <= maxLookahead {
			continue
		}
		ahead += strings.Count(inner, "](<") * len(inner)
		for word := range strings.FieldsSeq(inner) {
			ahead += strings.Count(word, "](") * len(word)
			tildes := strings.Count(word, "~~")
			ahead += tildes * tildes
		}
		if ahead > maxLookahead {
			return "too many links or emphasis marks are not closed"
		}
	}
	return ""
}

// containers returns the number of quote and list markers at the start of a line and the line's indentation in columns.
func containers(line string) (markers, indent int) {
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ':
			indent++
			i++
		case c == '\t':
			indent += 4 - indent%4
			i++
		case c == '>':
			markers++
			i++
		case c == '-' || c == '+' || c == '*':
			if i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' && line[i+1] != '\n' {
				return markers, indent
			}
			markers++
			i++
		case '0' <= c && c <= '9':
			end := i
			for end < len(line) && end-i < 10 && '0' <= line[end] && line[end] <= '9' {
				end++
			}
			if end+1 >= len(line) || line[end] != '.' && line[end] != ')' || line[end+1] != ' ' && line[end+1] != '\t' {
				return markers, indent
			}
			markers++
			i = end + 1
		default:
			return markers, indent
		}
	}
	return markers, indent
}
