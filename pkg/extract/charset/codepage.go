package charset

// CodePage returns the encoding for a Windows, DOS or Macintosh code page, by the name that DecodeWith accepts. For an
// unknown code page, it returns windows-1252.
func CodePage(page int) string {
	switch page {
	case 437:
		return "cp437"
	case 708, 709, 710, 720, 864, 1256:
		return "windows-1256"
	case 850, 858, 860, 861, 863, 865:
		return "cp850"
	case 852:
		return "cp852"
	case 855:
		return "ibm855"
	case 866:
		return "ibm866"
	case 862, 1255:
		return "windows-1255"
	case 874:
		return "windows-874"
	case 932:
		return "shift_jis"
	case 936, 54936:
		return "gb18030"
	case 949, 1361:
		return "euc-kr"
	case 950:
		return "big5"
	case 1250:
		return "windows-1250"
	case 1251:
		return "windows-1251"
	case 1253:
		return "windows-1253"
	case 1254:
		return "windows-1254"
	case 1257:
		return "windows-1257"
	case 1258:
		return "windows-1258"
	case 10000:
		return "macintosh"
	case 10007:
		return "x-mac-cyrillic"
	case 65001:
		return "utf-8"
	}
	return "windows-1252"
}
