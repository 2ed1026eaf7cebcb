package extracttest

// ProseLines is a page of English prose in lines of equal length, long enough for letter statistics to be meaningful.
var ProseLines = []string{
	"The keeper of the north gate opens it when the sun has risen over the", "hills, and he closes it again when the last of the carts has come in from",
	"the fields. Nobody may pass after that without a letter of the council,", "which is read aloud by the guard and then kept in the iron box below the",
	"stairs. In winter the gate stays closed on days of snow, since the road is", "not cleared before noon and the horses do not find their way.",
}
