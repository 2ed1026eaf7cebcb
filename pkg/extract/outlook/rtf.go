package outlook

import "encoding/binary"

// preset is the initial dictionary content for compressed RTF (MS-OXRTFCP, section 2.1.2.1).
const preset = "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier" +
	"{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"

// decompress unpacks up to `limit` bytes of compressed RTF (MS-OXRTFCP). If the data is damaged, it returns the text
// before the damage.
func decompress(data []byte, limit int64) (text []byte, ok bool) {
	const header, packed, plain = 16, 0x75465a4c, 0x414c454d
	if len(data) < header {
		return nil, false
	}
	size, kind := int64(binary.LittleEndian.Uint32(data[4:])), binary.LittleEndian.Uint32(data[8:])
	data = data[header:]
	switch kind {
	case plain:
		return data[:min(int64(len(data)), size)], true
	case packed:
	default:
		return nil, false
	}
	size = min(size, limit)
	var dictionary [4096]byte
	at := copy(dictionary[:], preset)
	put := func(c byte) {
		text = append(text, c)
		dictionary[at] = c
		at = (at + 1) % len(dictionary)
	}
	for len(data) > 0 && int64(len(text)) < size {
		flags := data[0]
		data = data[1:]
		for bit := 0; bit < 8 && len(data) > 0 && int64(len(text)) < size; bit++ {
			if flags&(1<<bit) == 0 {
				put(data[0])
				data = data[1:]
				continue
			}
			if len(data) < 2 {
				return text, true
			}
			reference := binary.BigEndian.Uint16(data)
			data = data[2:]
			from, length := int(reference>>4), int(reference&15)+2
			if from == at {
				return text, true // the end
			}
			for range length {
				put(dictionary[from])
				from = (from + 1) % len(dictionary)
			}
		}
	}
	return text, true
}
