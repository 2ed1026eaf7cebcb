package answer

import "github.com/sluice/sluice/pkg/analysis"

// phrases are the few words that the service says by itself.
type phrases struct {
	quotes  string // before quotations
	nothing string // the documents have no answer
	open    string // quotation marks
	close   string
}

// phrasebook holds the phrases by language; English serves all others.
var phrasebook = map[analysis.Language]phrases{
	"en": {"In the words of the documents:", "The documents do not answer this question.", "“", "”"},
	"de": {"Im Wortlaut der Dokumente:", "Die Dokumente beantworten diese Frage nicht.", "„", "“"},
	"fr": {"Selon les termes mêmes des documents :", "Les documents ne répondent pas à cette question.", "« ", " »"},
	"es": {"En palabras de los documentos:", "Los documentos no responden a esta pregunta.", "«", "»"},
	"it": {"Con le parole dei documenti:", "I documenti non rispondono a questa domanda.", "«", "»"},
	"pt": {"Nas palavras dos documentos:", "Os documentos não respondem a esta pergunta.", "“", "”"},
	"nl": {"In de woorden van de documenten:", "De documenten beantwoorden deze vraag niet.", "“", "”"},
	"ru": {"Словами документов:", "В документах нет ответа на этот вопрос.", "«", "»"},
	"zh": {"文档原文如下：", "文档中没有这个问题的答案。", "“", "”"},
	"ja": {"文書には次のように書かれています。", "文書の中にこの質問の答えは見つかりませんでした。", "「", "」"},
	"ko": {"문서의 원문은 다음과 같습니다:", "문서에서 이 질문의 답을 찾을 수 없습니다.", "“", "”"},
}

// questionWords tell the language of a question too short for detection by its function words.
var questionWords = map[string]analysis.Language{
	"wann": "de", "wie": "de", "wer": "de", "wo": "de", "warum": "de", "welche": "de", "welcher": "de", "welches": "de", "wieviel": "de", "wem": "de",
	"quand": "fr", "comment": "fr", "pourquoi": "fr", "quel": "fr", "quelle": "fr", "combien": "fr", "où": "fr", "qui": "fr",
	"cuándo": "es", "cómo": "es", "qué": "es", "quién": "es", "dónde": "es", "cuál": "es", "cuánto": "es", "cuántos": "es",
	"when": "en", "how": "en", "who": "en", "where": "en", "why": "en", "what": "en", "which": "en",
}

// languageOf tells the language of a question.
func languageOf(question string) analysis.Language {
	for _, w := range wordsOf(question) {
		if lang, ok := questionWords[w]; ok {
			return lang
		}
	}
	return analysis.Detect(question)
}

// phrasesFor returns the phrases of the question's language.
func phrasesFor(question string) phrases {
	if p, ok := phrasebook[languageOf(question)]; ok {
		return p
	}
	return phrasebook["en"]
}
