package main

import "strings"

// text is a source of paragraphs in one language, written for this benchmark.
type text struct {
	language string // Tesseract's name for the language
	heading  string
	clauses  []string
}

// paragraphs returns nine paragraphs, different for each n.
func (t text) paragraphs(n int) []string {
	var out []string
	for p := range 9 {
		var sentences []string
		for s := range 4 {
			sentences = append(sentences, t.clauses[(n*5+p*3+s*2)%len(t.clauses)])
		}
		out = append(out, strings.Join(sentences, " "))
	}
	return out
}

var texts = []text{
	{"eng", "Report of the harbour office", []string{
		"The committee met on 14 October 2025 and approved the budget of 48,200 pounds.", "Shipments grew by 12.5 percent, while returns fell to 310 units.",
		"Nobody had expected the crane to be repaired before the winter.", "The new quay is 240 metres long and has room for six vessels.",
		"Please send all questions to the office on the third floor.", "The water was measured every morning at half past seven.",
		"Insurance covers damage by storms, but not by frost.", "A licence is valid for five years and can be renewed once.",
	}},
	{"deu", "Bericht des Hafenamts", []string{
		"Der Ausschuss tagte am 14. Oktober 2025 und genehmigte 48.200 Euro für die Brücke.", "Die Lieferungen stiegen um 12,5 Prozent, die Rückgaben fielen auf 310 Stück.",
		"Niemand hätte gedacht, dass der Kran vor dem Winter repariert würde.", "Die neue Kaimauer ist 240 Meter lang und bietet Platz für sechs Schiffe.",
		"Bitte richten Sie alle Fragen an das Büro im dritten Stock.", "Das Wasser wurde jeden Morgen um halb acht gemessen.",
		"Größere Schäden müssen innerhalb von zwei Wochen gemeldet werden.", "Die Genehmigung gilt fünf Jahre und kann einmal verlängert werden.",
	}},
	{"fra", "Rapport de la capitainerie", []string{
		"Le comité s'est réuni le 14 octobre 2025 et a approuvé un budget de 48 200 euros.", "Les livraisons ont augmenté de 12,5 pour cent, les retours sont tombés à 310 pièces.",
		"Personne n'aurait cru que la grue serait réparée avant l'hiver.", "Le nouveau quai mesure 240 mètres et peut accueillir six navires.",
		"Veuillez adresser toutes vos questions au bureau du troisième étage.", "L'eau était mesurée chaque matin à sept heures et demie.",
	}},
	{"spa", "Informe de la autoridad portuaria", []string{
		"El comité se reunió el 14 de octubre de 2025 y aprobó un presupuesto de 48.200 euros.", "Los envíos crecieron un 12,5 por ciento y las devoluciones bajaron a 310 unidades.",
		"Nadie esperaba que la grúa estuviera reparada antes del invierno.", "El nuevo muelle mide 240 metros y tiene sitio para seis barcos.",
		"Envíe todas las preguntas a la oficina del tercer piso.", "El agua se medía cada mañana a las siete y media.",
	}},
	{"ita", "Relazione della capitaneria", []string{
		"Il comitato si è riunito il 14 ottobre 2025 e ha approvato un bilancio di 48.200 euro.", "Le spedizioni sono aumentate del 12,5 per cento e i resi sono scesi a 310 pezzi.",
		"Nessuno si aspettava che la gru fosse riparata prima dell'inverno.", "La nuova banchina è lunga 240 metri e ha posto per sei navi.",
		"Inviate tutte le domande all'ufficio al terzo piano.", "L'acqua veniva misurata ogni mattina alle sette e mezza.",
	}},
	{"por", "Relatório da capitania", []string{
		"A comissão reuniu-se em 14 de outubro de 2025 e aprovou um orçamento de 48.200 euros.", "As entregas cresceram 12,5 por cento e as devoluções caíram para 310 unidades.",
		"Ninguém esperava que o guindaste fosse reparado antes do inverno.", "O novo cais tem 240 metros e espaço para seis navios.",
		"Envie todas as perguntas ao escritório no terceiro andar.", "A água era medida todas as manhãs às sete e meia.",
	}},
	{"nld", "Verslag van het havenkantoor", []string{
		"De commissie vergaderde op 14 oktober 2025 en keurde 48.200 euro goed voor de brug.", "De leveringen stegen met 12,5 procent en de retouren daalden tot 310 stuks.",
		"Niemand had verwacht dat de kraan voor de winter hersteld zou zijn.", "De nieuwe kade is 240 meter lang en biedt plaats aan zes schepen.",
		"Stuur alle vragen naar het kantoor op de derde verdieping.", "Het water werd elke ochtend om half acht gemeten.",
	}},
	{"pol", "Sprawozdanie urzędu portowego", []string{
		"Komisja zebrała się 14 października 2025 roku i zatwierdziła budżet 48 200 złotych.", "Dostawy wzrosły o 12,5 procent, a zwroty spadły do 310 sztuk.",
		"Nikt nie oczekiwał, że dźwig zostanie naprawiony przed zimą.", "Nowe nabrzeże ma 240 metrów długości i miejsce dla sześciu statków.",
		"Wszystkie pytania prosimy kierować do biura na trzecim piętrze.", "Wodę mierzono każdego ranka o wpół do ósmej.",
	}},
	{"rus", "Отчёт портового управления", []string{
		"Комиссия собралась 14 октября 2025 года и утвердила бюджет в 48 200 рублей.", "Поставки выросли на 12,5 процента, а возвраты снизились до 310 штук.",
		"Никто не ожидал, что кран починят до наступления зимы.", "Новый причал имеет длину 240 метров и вмещает шесть судов.",
		"Все вопросы просим направлять в бюро на третьем этаже.", "Воду измеряли каждое утро в половине восьмого.",
	}},
	{"ell", "Έκθεση του λιμεναρχείου", []string{
		"Η επιτροπή συνεδρίασε στις 14 Οκτωβρίου 2025 και ενέκρινε 48.200 ευρώ για τη γέφυρα.", "Οι αποστολές αυξήθηκαν και οι επιστροφές μειώθηκαν σε 310 τεμάχια.",
		"Κανείς δεν περίμενε ότι ο γερανός θα επισκευαζόταν πριν από τον χειμώνα.", "Η νέα προβλήτα έχει μήκος 240 μέτρα και χώρο για έξι πλοία.",
		"Στείλτε όλες τις ερωτήσεις στο γραφείο του τρίτου ορόφου.", "Το νερό μετριόταν κάθε πρωί στις επτά και μισή.",
	}},
}
