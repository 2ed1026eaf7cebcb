package tesseract

import "slices"

// languagesOf lists each script's languages, most common first, except for Latin. Scripts are named as in Tesseract's
// orientation model, and languages like its language models.
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

// latin is Tesseract's name for the Latin script, the default for languages not in languagesOf.
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

// common lists the preferred Latin-script languages if a datastore names none.
var common = []string{"eng", "deu", "fra", "spa", "ita", "por", "nld", "pol"}

// Choose returns the languages for recognising a page, and the wanted languages that aren't installed. It chooses the
// wanted languages that are installed and use the given script, or any script if `script` is "" (unknown). If there are
// no such languages, it chooses up to three installed languages in the script, most common first; an unknown script
// then counts as Latin.
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
