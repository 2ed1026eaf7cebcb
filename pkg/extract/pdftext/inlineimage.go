package pdftext

// skipImage passes over an inline image, whose data may contain anything. It is called after ID.
func (t *tokenizer) skipImage() {
	for i := t.pos; i+2 < len(t.data); i++ {
		if t.data[i] == 'E' && t.data[i+1] == 'I' && isSpace(t.data[max(i-1, 0)]) && (isSpace(t.data[i+2])) && plausible(t.data[i+2:min(len(t.data), i+32)]) {
			t.pos = i + 2
			return
		}
	}
	t.pos = len(t.data)
}

// plausible reports whether bytes look like operators rather than like image data.
func plausible(b []byte) bool {
	for _, c := range b {
		if c >= 0x7f || c < 0x20 && !isSpace(c) {
			return false
		}
	}
	return true
}
