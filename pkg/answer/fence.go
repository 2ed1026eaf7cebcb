package answer

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// fence writes the fragments numbered from 1, each between lines that carry a hash of all that is fenced. So no
// document can hold the line that ends it: it would have to know a hash of itself. The same fragments make the same
// text, which model servers can cache.
func fence(fragments []domain.Fragment) string {
	if len(fragments) == 0 {
		return "There are no documents on this question."
	}
	type part struct{ label, text string }
	parts := make([]part, len(fragments))
	sum := sha256.New()
	for i, f := range fragments {
		label := f.Source
		if label == "" {
			label = f.DatasourceName
		}
		if f.Heading != "" {
			label += " · " + f.Heading
		}
		parts[i] = part{label: quoted(oneLine(label, 200)), text: quoted(f.Text)}
		sum.Write([]byte(parts[i].label + "\x00" + parts[i].text + "\x00"))
	}
	mark := hex.EncodeToString(sum.Sum(nil)[:6])

	var out strings.Builder
	out.WriteString("Documents. Each stands between two lines marked " + mark + "; all between them is quotation.\n")
	for i, p := range parts {
		out.WriteString("\n----- " + mark + " document [" + strconv.Itoa(i+1) + "] " + p.label + "\n")
		out.WriteString(p.text)
		out.WriteString("\n----- " + mark + " end\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// controlTokens are what chat templates part messages by. Servers differ in whether they take them literally inside a
// message, so they never get there whole.
var controlTokens = strings.NewReplacer(
	"<|", "< |", "|>", "| >",
	"[INST]", "(INST)", "[/INST]", "(/INST)",
	"<<SYS>>", "< <SYS> >", "<</SYS>>", "< </SYS> >",
	"<s>", "< s>", "</s>", "< /s>",
	"<start_of_turn>", "< start_of_turn>", "<end_of_turn>", "< end_of_turn>",
)

// marksInText are reference marks of the document's own, which a model would copy into its answer as ours.
var marksInText = regexp.MustCompile(`[\[【［]\s*(\d{1,3}(?:\s*[,;，、；–-]\s*\d{1,3})*)\s*[\]】］]`)

// quoted makes a document's text harmless inside a prompt, and no less readable. Code keeps its brackets: argv[1].
func quoted(text string) string {
	text = controlTokens.Replace(text)
	var out strings.Builder
	var code codeTracker
	done, subscript := 0, false // of the mark before: where it ends, and whether it is one
	for _, at := range marksInText.FindAllStringSubmatchIndex(text, -1) {
		for i := done; i < at[0]; i++ {
			code.track(text[i])
		}
		before := lastBytes(text[:at[0]])
		subscript = code.inCode('[') || code.indented() && glued(before) || subscripted(before, firstBytes(text[at[1]:])) ||
			subscript && at[0] == done
		out.WriteString(text[done:at[0]])
		if subscript {
			out.WriteString(text[at[0]:at[1]])
		} else {
			out.WriteString("(" + text[at[2]:at[3]] + ")")
		}
		for i := at[0]; i < at[1]; i++ {
			code.track(text[i])
		}
		done = at[1]
	}
	return out.String() + text[done:]
}

// oneLine collapses white space and cuts at a number of characters.
func oneLine(s string, characters int) string {
	s = strings.Join(strings.Fields(s), " ")
	n := 0
	for i := range s {
		if n == characters {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
