package question

import "github.com/sluice/sluice/pkg/wordset"

// interrogatives are the question words in languages that usually put them first. The list omits words that are mostly
// relative pronouns after a conjunction ("et que", "e che").
var interrogatives = wordset.Of(`
	what who whom whose when where which why how
	was wer wem wen wessen wann wo wohin woher womit wofür wodurch wie wieviel wieviele warum weshalb weswegen welche welcher welches welchem welchen
	quel quelle quels quelles quand où comment pourquoi combien lequel laquelle lesquels lesquelles
	qué quién quiénes cuándo dónde adónde cuál cuáles cuánto cuánta cuántos cuántas cómo
	chi quando dove quale quali quanto quanta quanti quante perché come cosa cos'è qual qual'è dov'è com'è chi'è
	quem onde quais quantos quantas
	wie wat wanneer waar waarom welke welk hoe hoeveel
	vem vad när var hur varför vilken vilket vilka hvem hvad hva hvornår når hvor hvordan hvorfor hvilken hvilket hvilke
	kto kiedy gdzie jak ile dlaczego który która które jaki jaka jakie jaką
	кто что кого чего кому чему кем чем ком чём когда где куда откуда как сколько насколько почему зачем какой какая какое какие каков какова какую каким какими каких какого каком какому которой чей чья чьё чьи сколькими скольких
	cine cui când unde cum cât câtă câți câte ce care căror cărui
	ποιος ποια ποιο ποιοι ποιες ποιον ποιους ποιων τι πότε πού πως πώς πόσο πόσα πόσοι πόσες πόση πόσος γιατί
`)

// nonRelativeInterrogatives hardly ever begin a relative clause, so they indicate a question even far from the
// conjunction: "and upon his return, what did he write".
var nonRelativeInterrogatives = wordset.Of(`
	what how quel quelle quels quelles combien cuánto cuántos cuál cuándo quanto quanti quanta wieviel
	какой какая какое какие какого каком какому какую каким какими каких сколько скольких насколько
`)

// inSituInterrogatives are question words in languages whose questions have the word order of statements. The question
// word is where the answer would be, not at the start.
var inSituInterrogatives = wordset.Of(`
	ne neyi neye neler nedir neydi nelerdir kim kimdir kimdi kimin kime kimi kimler nerede nereye nereden nerededir hangi hangisi hangisidir hangisiydi
	hangileri kaç kaçıncı kaçtır nasıl nasıldır neden niçin niye
	क्या कौन किस किसने किसे किसका किसकी किसके कब कहाँ कहां कैसे कैसा कैसी कितना कितने कितनी क्यों कौनसा
	gì ai đâu nào bao mấy sao
	ما ماذا من متى أين كيف كم لماذا أي أية هل
	چه کی چرا کجا چگونه چند کدام چیست کیست
`)

// conjunctions join questions.
var conjunctions = wordset.Of(`
	and und sowie et y e ed en och og i oraz и а și si και κι ve और và و ja
`)

// prepositions may come between a conjunction and the interrogative: "and in which year".
var prepositions = wordset.Of(`
	in on at by for from of to with under since until during after before about into over through also then
	in an auf bei für von zu mit unter seit bis während nach vor über um aus durch wegen
	à en de dans par pour avec sous depuis pendant après avant sur chez
	a con de desde en hacia hasta para por según sobre tras ante bajo
	di da per su tra fra
	em no na até sob
	van op voor met
	в во на о об от до с со из за по под при у для к
	la pe din cu despre în după sub între
	σε από με για
`)

// auxiliaries begin a yes-or-no question if a subject follows.
var auxiliaries = wordset.Of(`
	is are was were do does did can could may must should will would
	ist sind hat haben kann können darf muss wird
	est-ce
`)

// subjects may begin the subject of a yes-or-no question.
var subjects = wordset.Of(`
	the a an this that these those my your our their his her its i we you they he she it there
	der die das ein eine mein meine ihr ihre unser unsere ich wir man es sie er
`)

// requests are verbs that begin requests, which count as questions: "explain …", "list …".
var requests = wordset.Of(`
	explain describe list name tell give show compare summarize summarise define find state
	erkläre erklären beschreibe beschreiben nenne nennen liste zeige
	explique expliquez décris décrivez citez
	explica describe enumera nombra dime
	spiega descrivi elenca
	назовите приведите перечислите опишите объясните укажите
`)

// initialInterrogatives are interrogatives only at the start of a sentence. Elsewhere, they are conjunctions or
// relative pronouns.
var initialInterrogatives = wordset.Of(`che que qué qui`)

// backReferences are words that refer back to an earlier part of the same question.
var backReferences = wordset.Of(`
	it its they them their theirs this these those that he him his she her hers there then one ones
	er sie ihn ihm ihnen dieser dieses diese dort davon dafür damit dabei
	elle ils elles leur leurs cela ça celui celle sa ses
	él ella ellos ellas eso esto su sus
	esso essa lui lei loro suo sua suoi sue
	ele ela eles elas isso seu sua seus suas
	он она оно они его её ее их ему ей им
	hij zij zijn haar hun
`)

// unspacedInterrogatives are interrogatives in scripts without spaces between words.
var unspacedInterrogatives = []string{
	"什么", "什麼", "谁", "誰", "哪", "何时", "何時", "多少", "多久", "多长", "多大", "多高", "怎么", "怎麼", "怎样", "怎樣", "为什么", "為什麼", "如何", "为何", "為何", "何人", "何处", "何處", "何年",
	"いつ", "どこ", "どの", "どれ", "どう", "なぜ", "いくつ", "いくら", "何", "誰", "무엇", "누구", "언제", "어디", "어떤", "어떻게", "왜", "몇", "얼마",
}

// unspacedBackReferences are back references in scripts without spaces between words.
var unspacedBackReferences = []string{"它", "他", "她", "这", "這", "那", "其", "该", "該", "それ", "これ", "その", "この", "彼", "그것", "이것", "그는", "그녀"}
