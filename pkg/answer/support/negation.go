package support

import (
	"maps"
	"strings"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/wordset"
)

// negation says whether a word negates its clause.
type negation int

const (
	none     negation = iota
	restrict          // negative in itself: forbidden, except
	negates           // not, no, never
)

// negatingIn maps each language to its negations, many of which mean something else in other languages.
var negatingIn = map[analysis.Language]map[string]bool{
	"en": wordset.Of("not no never none nor neither cannot without nothing nobody"),
	"de": wordset.Of("nicht kein keine keinen keinem keiner keines nie niemals ohne nichts niemand"),
	"fr": wordset.Of("pas jamais aucun aucune sans rien ni non"),
	"es": wordset.Of("no nunca sin ningún ninguna ninguno nada nadie tampoco jamás ni"),
	"it": wordset.Of("non no mai senza nessun nessuna nessuno niente nulla"),
	"pt": wordset.Of("não nunca sem nenhum nenhuma ninguém nem jamais nada"),
	"nl": wordset.Of("niet geen nooit zonder niets niemand"),
	"ru": wordset.Of("не нет ни без нельзя никогда никто ничего нету"),
	"pl": wordset.Of("nie bez nigdy żaden żadna"),
	"sv": wordset.Of("inte ingen inget inga aldrig utan"),
	"vi": wordset.Of("không chưa"),
	"tr": wordset.Of("değil yok"),
	"ar": wordset.Of("لا لم لن ليس ليست غير دون بدون"),
}

var negating = func() map[string]bool {
	all := make(map[string]bool)
	for _, words := range negatingIn {
		maps.Copy(all, words)
	}
	return all
}()

var restricting = wordset.Of(`
	forbidden prohibited prohibits forbids banned excluded excludes exclude except unless refuse refused refuses fail fails lack lacks void invalid denied
	verboten untersagt ausgeschlossen außer unzulässig entfällt
	interdit interdite interdits exclu exclus exclue sauf hormis refusé
	prohibido prohibida excluido excluida salvo excepto
	vietato vietata escluso esclusa esclusi salvo tranne
	proibido proibida excluído excluída salvo exceto
	verboden uitgesloten behalve tenzij
	запрещено запрещается запрещён исключено кроме
`)

// negationOf classifies a lower-case word. langs are the text's languages, the most likely one first.
func negationOf(lower string, langs []analysis.Language) negation {
	if strings.HasSuffix(lower, "n't") || strings.HasSuffix(lower, "n’t") {
		return negates
	}
	for i, lang := range langs {
		if negatingIn[lang][lower] && (i == 0 || lower != "no") { // in Portuguese, "no" means "in the"
			return negates
		}
	}
	if restricting[lower] {
		return restrict
	}
	return none
}

// unspacedNegations are negations in scripts without spaces. Characters that also occur inside other words are listed
// with context.
var unspacedNegations = []string{"ない", "ません", "なかった", "できず", "せずに", "ずに", "不可", "不能", "不得", "不会", "不會", "不是", "不要", "不需", "不含", "不包", "不在", "不予", "不应", "不許", "不许", "不提供", "没有", "沒有", "未经", "未", "无法", "無法", "无需", "無", "无", "禁止", "않", "못", "없"}

// unspacedNegated reports whether a text in a script without spaces contains a negation.
func unspacedNegated(text string) bool {
	for _, n := range unspacedNegations {
		if strings.Contains(text, n) {
			return true
		}
	}
	return false
}
