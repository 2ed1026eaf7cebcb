package tesseract

import "slices"

// languagesOf lists Tesseract's languages of the scripts other than Latin, by the names of its model for orientation,
// most widely used languages first.
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

// latin is Tesseract's name of the script of all languages that languagesOf does not list.
const latin = "Latin"

// ScriptOf returns the name of the script that a language is written in.
func ScriptOf(language string) string {
	for script, languages := range languagesOf {
		if slices.Contains(languages, language) && script != "Japanese" && script != "Korean" {
			return script
		}
	}
	return latin
}

// common lists the Latin languages that are preferred if a datastore names none.
var common = []string{"eng", "deu", "fra", "spa", "ita", "por", "nld", "pol"}

// Choose returns the installed languages to try on a page in the given script, and the wanted ones that are not
// installed. If the script is "", it is not known yet, and all wanted languages are tried. If `wanted` has no installed
// language of the script, the installed languages of the script are candidates, the most widely used first.
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
