package charset

// alphabet lists a language's non-ASCII letters, most frequent first. It distinguishes the language's text from wrongly
// decoded text.
type alphabet struct {
	lang    string // ISO 639-3 code in whatlanggo; "" if whatlanggo does not know the language
	letters string
}

// Alphabets, grouped by code page.
var (
	westernLetters = []alphabet{
		{"deu", "üäößéà"}, {"fra", "éèàêçôîûùâëïœüÿæ"}, {"spa", "óíáéñúü"}, {"por", "ãçéáóêíõâúàôü"}, {"ita", "èàùòéìî"},
		{"swe", "äåöéü"}, {"dan", "øåæéöü"}, {"nob", "øåæéòóü"}, {"fin", "äöåéšž"}, {"nld", "éëïèöóüáêç"}, {"cat", "àéèóíçòúïü"},
		{"", "íáðþöæéóúýÐÞ"}, {"", "áéíóúàèìòùâêîôûŵŷ"}, {"eng", "éèêñöçïüâ"},
	}
	centralLetters = []alphabet{
		{"pol", "ęłóążśćńź"}, {"ces", "íáěéřčžýšůúťďňó"}, {"slk", "áíčšýéžúľťňôďäóĺŕř"}, {"hun", "áéöőóíüűú"},
		{"ron", "ăîâşţșț"}, {"hrv", "čćšžđ"}, {"slv", "čšžćđ"}, {"", "ëç"}, {"deu", "üäöß"},
	}
	turkishLetters  = []alphabet{{"tur", "ıiüşöğçâîû"}, {"aze", "əıüşöğç"}}
	balticLetters   = []alphabet{{"lav", "āīēšūņļģžčķ"}, {"lit", "ėšųįžūąčę"}, {"est", "äõüöšž"}, {"pol", "ęłóążśćńź"}}
	cyrillicLetters = []alphabet{
		{"rus", "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"}, {"ukr", "оаинвіертслкдумпязьбгчйхжїшцюєщфґ"}, {"bul", "аоеитнврслдкпмзубгъчщяйцжхшфюьѝ"},
		{"bel", "аніерстояклвдпумыцзьбгйчўхёшжюфэі"}, {"srp", "аоиенртсјуквдмплгзбчшцжхњћљђџф"}, {"mkd", "аоиетнрсвкдпмјулзгчбцшжќњхѓфџљѕ"},
	}
	greekLetters  = []alphabet{{"ell", "αοιετσνηυρπκμλςόγίάωδήέχύθφώβξζψϊΐϋ"}}
	hebrewLetters = []alphabet{{"heb", "יוהלאמרבתנשעםדקפחכסטזגןצךףץ"}}
	arabicLetters = []alphabet{{"arb", "اليمونرتبعدسفهكقحجةصشىخطذضءأئزثغإظؤآ"}, {"pes", "ایرنمدهوتسبشلزکخفگقعپحجچطصآئضغذثظژ"}}
	// The language code for Thai is left empty, because whatlanggo would detect Thai from the script alone.
	thaiLetters = []alphabet{{"", "านรกเงอมยลวดท่้ัิีสตะปบคหแจพชไขใโผณุู์ำื็ถซศธภฎฐษญฟฉึๆฏฒฝฆฮฤฬๅ๊๋"}}
	vietLetters = []alphabet{{"vie", "đưôơăâêàáéèóòíìúùýãõĩũ\u0300\u0301\u0303\u0309\u0323₫"}}
)

// The most frequent characters in languages with two-byte encodings. They make up half of the text in these languages
// but hardly occur in wrongly decoded noise.
const (
	commonSimplified = "的一是不了在人有我他这中大来上个国和说们为到地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然作方成者多日都三小军二无同么经法当起与好看学进种将还分此心前面又定见只主没公从" +
		"使本新现体水部意明动机情理样全它内外间开力高长但些因由重气各物量关点两向已或员系社会应实业电话网信息工作管理服务公司产品技术数据文件中国北京上海价格时间地址联系我们版权所有请进入免费在线用户下载更" +
		"名称号码日期市区路省县金额项目设计问题可以月四五六七八九百千万元"
	commonTraditional = "的一是不了在人有我他這中大來上個國和說們為到地也子時道出而要於就下得可你年生自會那後能對著事其裡所去行過家十用發天如然作方成者多日都三小軍二無同麼經法當起與好看學進種將還分此心前面又定見只主沒公從" +
		"使本新現體水部意明動機情理樣全它內外間開力高長但些因由重氣各物量關點兩向已或員系社應實業電話網信息工作管理服務司產品技術數據文件台灣北京海價格址聯絡版權請入免費線用戶載更名稱號碼期市區路省縣金額項目設計" +
		"問題以月四五六七八九百千萬元"
	commonKanji = "日一人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語土木聞食車何南万毎白天母火右読友左休父雨会社国事自業方新場員立開手力問代明動京目通言理体田主題意不作用度" +
		"者当合部内全約要連定現表性的成化機関実数対市区町村県都府価格情報電話番号住所氏名契約期間料金保守技術者支店"
	commonHangul = "이다는의에을를은가고지하로서한기사도자니리그어인들시아해나대라만수것스일부적정전있제보여과와게장주구원상조국경선공동세요중안성위관계방회신생문교무소학화용내제당년월오유치미실개물발면비모우명드러마연때까했습입물건되던" +
		"합니다서울한국회사제품가격이름전화주소날짜번호"
)
