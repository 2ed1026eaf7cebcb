// Package language detects a question's language, names and codes, splits it into words, and contains the phrases that
// the service writes into answers. Packages followup, extractive and answer use it.
package language

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// Phrases are the strings that the service itself writes into answers.
type Phrases struct {
	Quotes   string // introduces quotations
	NoAnswer string // says that the documents have no answer
	Empty    string // says that the agent has no documents
	Open     string // quotation marks
	Close    string

	Unanswered string // introduces the part of a question that the documents do not answer
}

// phrasebook holds the phrases by language. Other languages use English.
var phrasebook = map[analysis.Language]Phrases{
	"en": {"In the words of the documents:", "The documents do not answer this question.", "This agent has no documents yet.", "“", "”", "The documents do not answer:"},
	"de": {"Im Wortlaut der Dokumente:", "Die Dokumente beantworten diese Frage nicht.", "Dieser Agent hat noch keine Dokumente.", "„", "“", "Die Dokumente beantworten nicht:"},
	"fr": {"Selon les termes mêmes des documents :", "Les documents ne répondent pas à cette question.", "Cet agent n'a pas encore de documents.", "« ", " »", "Les documents ne répondent pas à :"},
	"es": {"En palabras de los documentos:", "Los documentos no responden a esta pregunta.", "Este agente aún no tiene documentos.", "«", "»", "Los documentos no responden a:"},
	"it": {"Con le parole dei documenti:", "I documenti non rispondono a questa domanda.", "Questo agente non ha ancora documenti.", "«", "»", "I documenti non rispondono a:"},
	"pt": {"Nas palavras dos documentos:", "Os documentos não respondem a esta pergunta.", "Este agente ainda não tem documentos.", "“", "”", "Os documentos não respondem a:"},
	"nl": {"In de woorden van de documenten:", "De documenten beantwoorden deze vraag niet.", "Deze agent heeft nog geen documenten.", "“", "”", "De documenten beantwoorden niet:"},
	"ru": {"Словами документов:", "В документах нет ответа на этот вопрос.", "У этого агента пока нет документов.", "«", "»", "В документах нет ответа на:"},
	"zh": {"文档原文如下：", "文档中没有这个问题的答案。", "该智能体还没有文档。", "“", "”", "文档没有回答："},
	"ja": {"文書には次のように書かれています。", "文書の中にこの質問の答えは見つかりませんでした。", "このエージェントにはまだ文書がありません。", "「", "」", "文書に答えが見つからない部分："},
	"ko": {"문서의 원문은 다음과 같습니다:", "문서에서 이 질문의 답을 찾을 수 없습니다.", "이 에이전트에는 아직 문서가 없습니다.", "“", "”", "문서에 답이 없는 부분:"},
}

// IsPhrase reports whether a sentence was written by the service itself, including one that introduces an unanswered
// part of a question.
func IsPhrase(sentence string) bool {
	sentence = strings.TrimSpace(sentence)
	for _, p := range phrasebook {
		if sentence == p.Quotes || sentence == p.NoAnswer || sentence == p.Empty || strings.HasPrefix(sentence, p.Unanswered) {
			return true
		}
	}
	return false
}

// functionWords show the language of questions that are too short for analysis.Detect.
var functionWords = map[analysis.Language]string{
	"en": "when how who where why what which is are do does did can could may should must the of and to for in with my your it",
	"de": "wann wie wer wo wohin woher womit warum was welche welcher welches welchem welchen wieviel wem wen bis seit ab zum zur den dem darf kann muss soll ich wir ist sind gibt hat haben der die das ein eine einen im mit und für nicht wird werden",
	"fr": "quoi à au aux quand comment pourquoi quel quelle quels quelles combien où qui est-ce puis peut peux dois est sont le les des du une et pour dans avec je nous il elle",
	"es": "cuándo cómo qué quién dónde cuál cuánto cuántos cuántas cuánta puedo debo es son el los las una y para con hay mi se",
	"it": "quando come perché quale quanto dove chi cosa posso devo è sono il gli una per con c'è",
	"pt": "quando como quem onde qual quanto quantos quantas posso devo são uma para com há não",
	"nl": "wanneer hoe hoeveel wie waar waarom welke wat mag moet kan ik wij zijn het een van voor met",
}

// QuestionWords maps each function word to its languages.
var QuestionWords = func() map[string][]analysis.Language {
	out := make(map[string][]analysis.Language)
	for lang, words := range functionWords {
		for w := range strings.FieldsSeq(words) {
			out[w] = append(out[w], lang)
		}
	}
	return out
}()

// Detect returns a question's language, judging by its function words, or "" if they are inconclusive.
func Detect(question string) analysis.Language {
	votes := make(map[analysis.Language]int)
	for _, w := range Words(question) {
		for _, lang := range QuestionWords[w] {
			votes[lang]++
		}
	}
	best, second := analysis.Unknown, 0
	for _, lang := range []analysis.Language{"en", "de", "fr", "es", "it", "pt", "nl"} {
		switch {
		case votes[lang] > votes[best]:
			best, second = lang, votes[best]
		case votes[lang] > second:
			second = votes[lang]
		}
	}
	if votes[best] > second {
		return best
	}
	if detected := analysis.Detect(question); detected != analysis.English {
		return detected
	}
	return best // for inconclusive text, analysis.Detect also returns English
}

// PhrasesFor returns the phrases in the question's language. If that is unclear, it falls back to the most recent
// earlier question with a clear language, then to the language that all fragments share, then to English.
func PhrasesFor(question string, history []chat.Turn, fragments []domain.Fragment) Phrases {
	lang := Detect(question)
	for _, t := range slices.Backward(history) {
		if lang == analysis.Unknown && t.Role == domain.RoleUser {
			lang = Detect(t.Text)
		}
	}
	if lang == analysis.Unknown {
		for i, f := range fragments {
			if found := plainLanguage(f); i == 0 {
				lang = found
			} else if found != lang {
				lang = analysis.English
			}
		}
	}
	if p, ok := phrasebook[lang]; ok {
		return p
	}
	return phrasebook["en"]
}

// A text is clearly in a language if it contains at least plainWords distinct function words in that language and they
// make up at least the fraction plainShare of its words. In sentences, they make up a third or more. In rows, labels
// and measurements, apparent function words are names or abbreviations.
const (
	plainWords = 2
	plainShare = 0.15
)

// plainLanguage returns a fragment's language, judging by its words. If the words are inconclusive, it returns the
// datasource's language, which may be "".
func plainLanguage(f domain.Fragment) analysis.Language {
	lang := analysis.Detect(f.Text)
	if _, latin := functionWords[lang]; !latin && lang != analysis.Unknown {
		return lang // clear from its script, or a language without phrases
	}
	words, held := Words(f.Text), 0
	different := make(map[string]bool)
	for _, w := range words {
		if utf8.RuneCountInString(w) > 1 && analysis.IsFunctionWord(w, lang) && (lang == analysis.English || !analysis.IsFunctionWord(w, analysis.English)) {
			different[w] = true
			held++
		}
	}
	if len(different) >= plainWords && float64(held) >= plainShare*float64(len(words)) {
		return lang
	}
	stated, _, _ := strings.Cut(strings.ReplaceAll(domain.StatedLanguage(f.Metadata), "_", "-"), "-")
	return analysis.Language(strings.ToLower(strings.TrimSpace(stated)))
}
