package fence

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

// AddressesModel reports whether text addresses a language model: tells it to ignore its instructions, to assume an
// identity, or to say something. Such sentences don't answer anything, and the built-in answerer does not quote them.
// This doesn't protect language models, which understand more variants than any list contains. For them, documents are
// fenced and the output is checked.
//
// Lookalike letters count as the letters they resemble, and invisible characters are ignored.
func AddressesModel(text string) bool {
	plain := skeleton(text)
	if strings.ContainsAny(plain, "<[#:") && templateMarks().MatchString(plain) {
		return true
	}
	orders := func(plain string) bool {
		return slices.ContainsFunc(commands, func(c command) bool { return c.in(plain) })
	}
	return orders(plain) && orders(reminders().ReplaceAllString(plain, " "))
}

// templateMarks match the message separators in chat templates, which mean nothing to people.
var templateMarks = skeletons(
	`<\s?\|\s?[a-z_]{2,20}\s?\|\s?>`, `\[/?inst\]`, `<<?/?sys>?>`, `</?(?:system|assistant|instructions?|tool_call|function_calls?)>`,
	`<(?:start|end)_of_turn>`, `#{2,} ?(?:system|instructions?|assistant|prompt) ?:?(?:$| )`,
	`^\W*(?:system|assistant|developer) (?:message|prompt|note)\s?:`, `^\W*(?:system|assistant)\s?:(?: [^\s;]+){4}`,
)

// command is one kind of instruction to a model. Only texts that contain one of the hints are matched against the
// pattern.
type command struct {
	hints   []string
	pattern func() *regexp.Regexp
}

func (c command) in(plain string) bool {
	return slices.ContainsFunc(c.hints, func(h string) bool { return strings.Contains(plain, h) }) && c.pattern().MatchString(plain)
}

var commands = []command{
	// Instructions to ignore earlier instructions.
	order(`ignor|disregard|forget|overrid|overrul|bypass|discard|not follow|n't follow|stop following|no attention to`,
		`\b(?:previous|prior|above|earlier|preceding|all|any|your|original|initial|former|everything|you were)\b`,
		`\b(?:instructions?|prompts?|rules|guidelines|directions|commands|directives|constraints|context|told|said)\b`),
	newCommand(`above`, `\b(?:ignore|disregard|forget) (?:all |everything )?(?:of )?(?:the )?above\b`),
	order(`ignorier|missacht|vergiss|vergess|uberge`, `\b(?:alle\w*|vorherig\w*|obig\w*|bisherig\w*|deine\w*|fruher\w*)\b`,
		`\b(?:anweisung\w*|instruk\w*|vorgaben|regeln|befehle|prompts?)\b`),
	order(`ignore|oubli|pas compte|abstraction`, `\b(?:toutes?|tous|precedente?s?|ci-dessus|tes|vos|anterieures)\b`,
		`\b(?:instructions?|consignes?|directives?|regles|prompts?)\b`),
	order(`ignor|olvid|descart|caso omiso|no siga`, `\b(?:todas?|anterior(?:es)?|previas|tus|sus)\b`,
		`\b(?:instrucci\w+|ordenes|indicaciones|reglas|directrices|prompts?)\b`),
	order(`ignor|dimentic|trascur|non segui`, `\b(?:tutte|precedent[ei]|tue|vostre|sopra)\b`, `\b(?:istruzion\w+|indicazion\w+|regole|direttive|prompts?)\b`),
	order(`ignor|esquec|desconsider|descart`, `\b(?:todas?|anterior(?:es)?|previas|suas|tuas|acima)\b`, `\b(?:instruc\w+|ordens|regras|diretrizes|prompts?)\b`),
	order(`negeer|vergeet`, `\b(?:alle|voorgaande|vorige|bovenstaande|eerdere|je|uw)\b`, `\b(?:instructies?|aanwijzingen|regels|opdrachten|prompts?)\b`),
	order(`ignora|uita|nesocot`, `\b(?:toate|anterioare|precedente|tale)\b`, `\b(?:instructiun\w*|comenzi\w*|reguli\w*)\b`),
	order(`ignoruj|zapomnij|pomin`, `\b(?:wszystkie|wszystkich|poprzedni\w*|powyzsz\w*|twoj\w*)\b`, `\b(?:instrukcj\w*|polece\w*|zasad\w*)\b`),
	order(`игнорируй|забудь|не обращай|отбрось|пренебреги`, `(?:все|предыдущ|выше|прежни|свои|твои)`, `(?:инструкци|указани|правил|команд|промпт)`),
	order(`αγνοησ|ξεχασ|παραβλεψ`, `(?:ολες|ολους|ολα|προηγουμεν|παραπανω)`, `(?:οδηγι|εντολ|κανον)`),
	order(`忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要理會|不要遵守|跳过|跳過`, `(?:以上|之前|前面|上述|上面|先前|所有|一切|全部|你的)`,
		`(?:指令|指示|提示|规则|規則|命令|说明|說明|要求|内容|內容)`),
	order(`bo qua|phot lo|quen|khong tuan theo`, `(?:moi|tat ca|truoc do|phia tren|o tren)`, `(?:huong dan|chi dan|lenh|quy tac|chi thi)`),
	newCommand(`無視|忘れ|従わない|従うな`, `(?:以上|上記|以前|前|これまで|すべて|全て).{0,16}(?:指示|命令|プロンプト|ルール|指令).{0,16}(?:無視|忘れ|従わない|従うな)`),
	newCommand(`무시|잊어|따르지`, `(?:이전|위의|모든|앞선).{0,16}(?:지시|명령|프롬프트|규칙|지침).{0,16}(?:무시|잊어|따르지)`),
	newCommand(`تجاهل|انس|لا تتبع`, `(?:تجاهل|انس|لا تتبع).{0,30}(?:التعليمات|الأوامر|القواعد|تعليمات)`),
	newCommand(`yok say|gormezden gel|unut|dikkate alma|goz ardi et`, `(?:onceki|tum|yukaridaki|butun).{0,30}(?:talimat|yonerge|komut|kural|istem).{0,30}(?:yok say|gormezden gel|unut|dikkate alma|goz ardi et)`),
	newCommand(`अनदेखा|नजरअंदाज|भूल`, `(?:पिछले|सभी|उपरोक्त|ऊपर).{0,30}(?:निर्देश|आदेश|नियम|प्रॉम्प्ट).{0,30}(?:अनदेखा|नजरअंदाज|भूल)`),

	// Instructions to assume an identity.
	newCommand(`ai|llm|chatbot|model|assistant|bot|dan|jailbroken|developer mode`, `\b(?:you are|you're|act|behave|respond|answer|pretend)\b.{0,20}\b(?:now|from now on|as if you were|to be|as)\b.{0,20}\b(?:an? (?:\w+ )?(?:ai|llm|chatbot|language model|assistant|bot)|dan|jailbroken|in developer mode)\b`),
	newCommand(`du bist|sie sind|tu es|vous etes|eres|usted es|sei|voce e|je bent`, `\b(?:du bist|sie sind|tu es|vous etes|eres|usted es|sei|voce e|je bent)\b.{0,25}\b(?:jetzt|ab sofort|nun|maintenant|desormais|ahora|ora|adesso|agora|nu|vanaf nu)\b.{0,40}\b(?:ki|ia|ai|assistent\w*|assistant\w*|asistente|assistente|chatbot|sprachmodell|modele de langage|modelo de lenguaje|modelo de linguagem|modello linguistico|taalmodel)\b`),
	newCommand(`теперь|отныне`, `(?:ты|вы) (?:теперь|отныне).{0,30}(?:ассистент|бот|модел|ии)`),
	newCommand(`现在|現在`, `(?:你|您)(?:现在|現在|从现在|從現在).{0,10}(?:助手|机器人|機器人|模型|人工智能|ai)`),
	newCommand(`あなた|君|お前`, `(?:あなたは|君は|お前は)(?:今から|これから|今や).{0,20}(?:ai|アシスタント|ボット|モデル)`),
	newCommand(`당신은|너는`, `(?:당신은|너는) (?:이제|지금부터).{0,20}(?:ai|어시스턴트|봇|모델|비서)`),

	// Phrases that address only models.
	newCommand(`ai|llm|chatbot|model`, `\b(?:dear|attention|note (?:to|for)|message (?:to|for)|instructions? (?:to|for)|hey|hello)\b,? (?:an? |the |any |all )?(?:ai|llm|chatbot|language model|ai assistant|ai model|ai agent|large language model)s?\b`),
	newCommand(`if you`, `\bif you(?: are|'re) an? (?:ai|llm|chatbot|language model|bot|large language model)\b`),
	newCommand(`your `, `\b(?:reveal|print|repeat|output|show|disclose|leak|expose|send|tell|disregard|ignore)\b.{0,30}\byour (?:system|hidden|secret|initial|original) ?(?:prompts?|instructions?|messages?)\b`),
	newCommand(`instruction|prompt|directive|task|objective`, `\b(?:new|updated|real|actual|true) (?:system )?(?:instructions?|prompt|directive|task|objective)(?: (?:is|are|follows?))?:`),
	newCommand(`answer|respond|reply`, `\b(?:always|must|only|just|instead|simply)\b.{0,20}\b(?:answer|respond|reply)\b.{0,20}\b(?:with the (?:following|words?|text|phrase|sentence)|to (?:every|any|all) (?:questions?|quer(?:y|ies)))`),
	newCommand(`'s `, `\b(?:append|include|add|insert|embed|render|display|show|output)\b.{0,30}\b(?:image|img|link|url|pixel)\b.{0,40}\b(?:user|human)'s (?:question|message|name|data|query|input)\b`),
	newCommand(`markdown`, `\b(?:append|include|add|insert|embed|render|output) (?:an? |the |this )?markdown (?:image|link)\b`),
	newCommand(`your |every |each `, `\b(?:in|to|at the (?:end|beginning|start) of|before|after) (?:your|every|each) (?:answers?|responses?|repl(?:y|ies)|output)\b.{0,30}\b(?:include|append|add|mention|link|say|write|cite)\b`),
	newCommand(`your |every |each `, `\b(?:say|write|add|include|append|cite|mention)\b.{0,60}\b(?:in|to|at the (?:end|beginning|start) of|before|after) (?:your|every|each) (?:answers?|responses?|repl(?:y|ies)|output)\b`),
}

// order returns a command for sentences like "ignore all instructions", where verbs matches "ignore", which matches
// "all", and what matches "instructions". The verbs are also the hints.
func order(verbs, which, what string) command {
	forget := `(?:` + verbs + `)`
	return newCommand(verbs, forget+`.{0,40}`+which+`.{0,30}`+what+`|`+forget+`.{0,40}`+what+`.{0,20}`+which)
}

// newCommand returns a command with the given pattern. `hints` are separated by bars.
func newCommand(hints, pattern string) command {
	return command{hints: strings.Split(replaceLookalikes(hints), "|"), pattern: skeletons(pattern)}
}

// reminders match instructions not to forget something, which don't address a model.
var reminders = skeletons(`(?:not|n't|never|nicht|ne pas|n'|no|nunca|non|nao|niet|nu|nie|не|不要|别|勿) ?(?:sie )?(?:forget|vergessen|oublie\w*|olvid\w*|dimentica\w*|esque\w*|vergeet|vergeten|uita\w*|zapomn\w*|забудь\w*|забыва\w*|忘记|忘記)`)

// skeletons compiles patterns to be matched against the output of skeleton.
func skeletons(patterns ...string) func() *regexp.Regexp {
	return lazyregexp.New(replaceLookalikes(strings.Join(patterns, "|")))
}

// replaceLookalikes prepares a pattern to be matched against the output of skeleton. Like that function, it removes
// accents and invisible characters.
func replaceLookalikes(text string) string {
	return norm.NFC.String(strings.Map(visibleRune, norm.NFKD.String(text)))
}

// Maximum number of bytes checked for instructions to a model. Quoted sentences are never longer.
const maxSkeletonBytes = 8 << 10

// skeleton returns text as a reader perceives it, in lower case: without accents and invisible characters, and with
// white space collapsed. In words with Latin letters, lookalikes from other scripts become Latin.
func skeleton(text string) string {
	if len(text) > maxSkeletonBytes {
		text = strings.ToValidUTF8(text[:maxSkeletonBytes], "")
	}
	var out strings.Builder
	for i, word := range strings.Fields(strings.Map(visibleRune, norm.NFKD.String(text))) {
		if i > 0 {
			out.WriteByte(' ')
		}
		latin := strings.ContainsFunc(word, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) })
		for _, r := range strings.ToLower(word) {
			if like, ok := lookalikes[r]; ok && latin {
				r = like
			}
			out.WriteRune(r)
		}
	}
	return norm.NFC.String(out.String())
}

// visibleRune returns -1, which makes strings.Map drop r, if r is invisible or an accent in a European script.
// Quotation marks that look like apostrophes become apostrophes.
func visibleRune(r rune) rune {
	switch {
	case r == '\u00ad', unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), r >= '\u0300' && r <= '\u036f':
		return -1
	case r == '’', r == '‘', r == '`', r == '´':
		return '\''
	}
	return r
}

// lookalikes maps lower-case Cyrillic, Greek, Armenian and phonetic letters to the Latin letters they resemble.
var lookalikes = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'н': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'о': 'o',
	'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'у': 'y', 'ԝ': 'w', 'х': 'x', 'г': 'r', 'п': 'n', 'ь': 'b',
	'α': 'a', 'β': 'b', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'ω': 'w', 'γ': 'y',
	'օ': 'o', 'ս': 'u', 'ո': 'n', 'հ': 'h', 'ց': 'g', 'ɡ': 'g', 'ɑ': 'a', 'ı': 'i', 'ʟ': 'l', 'ɪ': 'i', 'ɴ': 'n', 'ʀ': 'r', 'ꜱ': 's', 'ᴇ': 'e', 'ᴏ': 'o',
}
