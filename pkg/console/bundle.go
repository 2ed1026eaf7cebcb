package console

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

// EmbedPath is the path to the chat script for other web sites.
const EmbedPath = "/embed/chat.js"

// Path to the chat's main module.
const entry = "embed/chat.js"

// Patterns for the imports, exports and comments in the console's modules. bundle replaces only these and leaves all
// other code as it is.
var (
	importPattern  = lazyregexp.New(`(?m)^import \{ ([^}]+) \} from '([^']+)';\n`)
	exportPattern  = lazyregexp.New(`(?m)^export ((?:async )?(?:function\*?|const|class)) (\w+)`)
	commentPattern = lazyregexp.New(`(?m)^[ \t]*(?://.*|/\*\*(?:[^*]|\*+[^*/])*\*+/)\n`)
	nonWordPattern = lazyregexp.New(`\W`)
)

// bundle combines a module and its imports into one classic script without comments. A module script would take one
// request per file and couldn't find its own element, because document.currentScript is null in modules.
func bundle(sources map[string][]byte, name string) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("(() => {\n'use strict';\n")
	done := map[string]bool{}
	var add func(name string, outer []string) error
	add = func(name string, outer []string) error {
		if done[name] {
			return nil
		}
		text, found := sources[name]
		if !found || len(outer) > 20 {
			return fmt.Errorf("bundling %s: there is no module %s", strings.Join(outer, " > "), name)
		}
		for _, m := range importPattern().FindAllSubmatch(text, -1) {
			if err := add(path.Join(path.Dir(name), string(m[2])), append(outer, name)); err != nil {
				return err
			}
		}
		done[name] = true
		var exported []string
		for _, m := range exportPattern().FindAllSubmatch(text, -1) {
			exported = append(exported, string(m[2]))
		}
		text = importPattern().ReplaceAllFunc(text, func(line []byte) []byte {
			m := importPattern().FindSubmatch(line)
			return fmt.Appendf(nil, "const { %s } = %s;\n", bytes.ReplaceAll(m[1], []byte(" as "), []byte(": ")), variable(path.Join(path.Dir(name), string(m[2]))))
		})
		text = exportPattern().ReplaceAll(text, []byte("$1 $2"))
		text = commentPattern().ReplaceAll(text, nil)
		fmt.Fprintf(&out, "const %s = (() => {\n%sreturn { %s };\n})();\n", variable(name), text, strings.Join(exported, ", "))
		return nil
	}
	if err := add(name, nil); err != nil {
		return nil, err
	}
	out.WriteString("})();\n")
	return out.Bytes(), nil
}

// variable returns the name of the variable that holds a module's exports in a bundle.
func variable(module string) string {
	return "$" + nonWordPattern().ReplaceAllString(strings.TrimSuffix(module, ".js"), "_")
}
