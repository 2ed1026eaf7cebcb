package tesseract

import "slices"

// languagesOf lists the languages of each script except Latin, most common first. Scripts are named as Tesseract's
// orientation model reports them, and languages as Tesseract's language models are named.
var languagesOf = map[string][]string{
	"Arabic":     {"ara", "fas", "urd", "pus", "uig", "snd", "kur_ara"},
	"Armenian":   {"hye"},
	"Bengali":    {"ben", "asm"},
	"Canadian":   {"iku"},
	"Cherokee":   {"chr"},
	"Cyrillic":   {"rus", "ukr", "bul", "srp", "bel", "mkd", "kaz", "kir", "mon", "tgk", "tat", "uzb_cyrl", "aze_cyrl"},
	"Devanagari": {"hin", "mar", "nep", "san"},
	"Ethiopic":   {"amh", "tir"},
	"Georgian":   {"kat"},
	"Greek":      {"ell", "grc"},
	"Gujarati":   {"guj"},
	"Gurmukhi":   {"pan"},
	"Han":        {"chi_sim", "chi_tra", "jpn"},
	"Hangul":     {"kor"},
	"Hebrew":     {"heb", "yid"},
	"Japanese":   {"jpn"},
	"Kannada":    {"kan"},
	"Khmer":      {"khm"},
	"Korean":     {"kor"},
	"Lao":        {"lao"},
	"Malayalam":  {"mal"},
	"Myanmar":    {"mya"},
	"Oriya":      {"ori"},
	"Sinhala":    {"sin"},
	"Tamil":      {"tam"},
	"Telugu":     {"tel"},
	"Thaana":     {"div"},
	"Thai":       {"tha"},
	"Tibetan":    {"bod", "dzo"},
}

// latin is Tesseract's name for the Latin script, which languages missing from languagesOf are assumed to use.
const latin = "Latin"

// ScriptOf returns the name of a language's script.
func ScriptOf(language string) string {
	for script, languages := range languagesOf {
		if slices.Contains(languages, language) && script != "Japanese" && script != "Korean" {
			return script
		}
	}
	return latin
}

// common lists the preferred Latin languages for datastores that name no languages.
var common = []string{"eng", "deu", "fra", "spa", "ita", "por", "nld", "pol"}

// Choose returns the languages in which to recognise a page, and the wanted languages that are not installed. It
// chooses the installed wanted languages that use the given script, or all installed wanted languages if `script` is
// "", i.e. unknown. If there are none, it chooses up to three installed languages that use the script, most common
// first. An unknown script then counts as Latin.
func Choose(installed, wanted []string, script string) (chosen, missing []string) {
	unknown := script == ""
	if unknown {
		script = latin
	}
	ofScript := languagesOf[script]
	belongs := func(language string) bool {
		return slices.Contains(ofScript, language) || script == latin && ScriptOf(language) == latin
	}
	for _, l := range wanted {
		switch {
		case !slices.Contains(installed, l):
			missing = append(missing, l)
		case (unknown || belongs(l)) && !slices.Contains(chosen, l):
			chosen = append(chosen, l)
		}
	}
	if len(chosen) > 0 {
		return chosen[:min(len(chosen), maxLanguages)], missing
	}
	order := ofScript
	if script == latin {
		order = common
	}
	for _, l := range order {
		if slices.Contains(installed, l) {
			chosen = append(chosen, l)
		}
	}
	const maxUnnamed = 3 // each language takes time on every page
	for _, l := range installed {
		if len(chosen) < maxUnnamed && isLanguage(l) && belongs(l) && !slices.Contains(chosen, l) {
			chosen = append(chosen, l)
		}
	}
	return chosen[:min(len(chosen), maxUnnamed)], missing
}
