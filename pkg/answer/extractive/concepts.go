package extractive

import (
	"strings"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/answer/language"
)

// concepts are common words in questions and column names in all supported languages, one concept per line. Words on
// the same line are related. The list is needed because word vectors relate few of these words, and none across
// languages. Words that have other common meanings are omitted.
const concepts = `
	price prices cost costs kostet kosten preis preise prix coût coûte coûtent tarif precio precios cuesta cuestan prezzo costa preço custa prijs цена стоит стоимость
	stock inventory lager lagerbestand bestand vorrätig existencias magazzino giacenza estoque voorraad склад
	weight weigh weighs heavy gewicht wiegt schwer poids pèse lourd peso pesa pesado вес весит
	speed fast geschwindigkeit schnell vitesse rapide velocidad rápido velocità veloce скорость
	height high tall höhe hoch hauteur altura altezza высота
	length long länge lang longueur longitud lunghezza comprimento длина
	width wide breite breit largeur anchura ancho larghezza ширина
	depth deep tiefe tief profondeur profond profundidad profondità глубина
	age old alter âge edad età возраст
	phone telephone telefon telefonnummer rufnummer téléphone teléfono telefono telefone telefoon телефон
	email mail courriel correo posta
	room raum zimmer salle bureau sala habitación stanza ufficio комната
	delivery shipping lieferung lieferzeit livraison entrega envío consegna spedizione levering доставка
	warranty guarantee garantie gewährleistung garantía garanzia garantia гарантия
	maintenance servicing wartung instandhaltung entretien mantenimiento manutenzione manutenção onderhoud обслуживание
	interval intervall intervalle intervalo intervallo интервал
	discount rabatt nachlass remise réduction descuento sconto desconto korting скидка
	holiday holidays vacation leave urlaub urlaubstage congé congés vacances vacaciones ferie férias vakantie отпуск
	salary wage wages pay gehalt lohn salaire salario stipendio salário зарплата
	begin begins start starts beginnt anfang anfängt startet commence début débute empieza comienza inicio inizia inizio начало начинается
	deadline due frist stichtag échéance plazo scadenza prazo срок
	customer client clients kunde kunden cliente clientes clienti клиент
	supplier vendor lieferant fournisseur proveedor fornitore leverancier поставщик
	address anschrift adresse dirección indirizzo endereço адрес
`

// conceptsOf maps each word to the indices of its concepts; conceptWords is indexed by concept.
var conceptsOf, conceptWords = func() (map[string][]int, [][]string) {
	of := make(map[string][]int)
	var words [][]string
	for line := range strings.Lines(concepts) {
		fields := strings.Fields(line)
		for _, w := range fields {
			of[w] = append(of[w], len(words))
		}
		words = append(words, fields)
	}
	return of, words
}()

// addConcepts extends the question's terms with the other words of their concepts, as index terms in the fragments'
// languages. Like addKin, it adds nothing to names.
func (q *question) addConcepts(asked string, langs []analysis.Language) {
	for _, w := range language.Words(asked) {
		of := conceptsOf[w]
		if len(of) == 0 {
			continue
		}
		for i, is := range termsIn(q.terms, []string{w}) {
			if !is || q.names[i] {
				continue
			}
			for _, c := range of {
				for _, other := range conceptWords[c] {
					for _, lang := range langs {
						q.kin[i] = append(q.kin[i], analysis.Terms(other, lang)...)
					}
				}
			}
		}
	}
}

// termsIn reports for each term whether one of its forms is among the words.
func termsIn(terms []analysis.QueryTerm, words []string) []bool {
	forms := make(map[string]bool)
	for _, w := range words {
		for _, f := range analysis.Terms(w, analysis.Unknown) {
			forms[f] = true
		}
	}
	out := make([]bool, len(terms))
	for i, t := range terms {
		for _, f := range t.Forms {
			out[i] = out[i] || forms[f]
		}
	}
	return out
}
