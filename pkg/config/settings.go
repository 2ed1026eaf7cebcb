package config

import (
	"fmt"
	"io"
	"strings"
)

// Setting describes one of the service's environment variables and its flag.
type Setting struct {
	Env     string
	Flag    string // Env in lower case, with hyphens instead of underscores and without SLUICE_
	Default string
	Unset   string // effect of an empty value, for the documentation; "" if there is none
	Doc     string // one sentence in Markdown
	Secret  bool
	set     func(value string) error
}

// IsBool reports whether the setting can only be true or false, so that its flag needs no value.
func (s Setting) IsBool() bool { return s.Default == "true" || s.Default == "false" }

// Text returns Doc and the default as plain text.
func (s Setting) Text() string {
	text := s.Doc
	switch {
	case s.Default != "":
		text += " Default: " + s.Default + "."
	case s.Unset != "":
		text += " Default: " + s.Unset + "."
	}
	return strings.ReplaceAll(text, "`", "")
}

// Group holds the settings of one subject.
type Group struct {
	Title    string
	About    string // introduction in Markdown, for the documentation; may be empty
	Settings []Setting
}

// Groups returns all settings by subject in the order of the documentation. The first group is the settings that most
// installations need.
func Groups() []Group {
	c := newConfig()
	return groups(&c)
}

// Settings returns the settings in all groups.
func Settings() []Setting {
	c := newConfig()
	return settingsOf(&c)
}

func settingsOf(c *Config) (all []Setting) {
	for _, g := range groups(c) {
		all = append(all, g.Settings...)
	}
	return all
}

// groups returns all settings by subject. Their set functions write to c.
func groups(c *Config) []Group {
	all := []Group{
		startSettings(c), serviceSettings(c), providerSettings(c), answerSettings(c), retrievalSettings(c), storageSettings(c),
		natsSettings(c), ingestionSettings(c), crawlerSettings(c), limitSettings(c), quotaSettings(c), overloadSettings(c),
	}
	for _, g := range all {
		for i := range g.Settings {
			s := &g.Settings[i]
			s.Flag = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s.Env, "SLUICE_"), "_", "-"))
		}
	}
	return all
}

// Markdown writes the tables of settings for the documentation.
func Markdown(out io.Writer) {
	for _, g := range Groups() {
		fmt.Fprintf(out, "\n## %s\n", g.Title)
		if g.About != "" {
			fmt.Fprintf(out, "\n%s\n", g.About)
		}
		fmt.Fprint(out, "\n| setting | default | |\n|---|---|---|\n")
		for _, s := range g.Settings {
			def := s.Unset
			if s.Default != "" {
				def = "`" + s.Default + "`"
			}
			fmt.Fprintf(out, "| `%s` | %s | %s |\n", s.Env, def, s.Doc)
		}
	}
}
