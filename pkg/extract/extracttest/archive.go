package extracttest

// ArchiveSample is a web archive.
const ArchiveSample = "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://a.example/doors\r\nSubject: Doors\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; type=\"text/html\"; boundary=\"B\"\r\n\r\n" +
	"--B\r\nContent-Type: text/css\r\n\r\np { color: red }\r\n--B\r\nContent-Type: text/html; charset=windows-1252\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Location: https://a.example/doors\r\n\r\n" +
	"<html><body><p>A door costs =80 500, <a href=3D\"list\">see the list</a>.</p></body></html>\r\n--B\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--B--\r\n"

// FlatSample is a Word document as a single XML file.
const FlatSample = `<?xml version="1.0"?><?mso-application progid="Word.Document"?><pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage">` +
	`<pkg:part pkg:name="/_rels/.rels"><pkg:xmlData><Relationships><Relationship Id="r1" Type="http://x/officeDocument" Target="word/document.xml"/></Relationships></pkg:xmlData></pkg:part>` +
	`<pkg:part pkg:name="/word/document.xml"><pkg:xmlData><w:document xmlns:w="w"><w:body><w:p><w:r><w:t>A door &amp; a window</w:t></w:r></w:p></w:body></w:document></pkg:xmlData></pkg:part>` +
	`<pkg:part pkg:name="/word/media/image1.png"><pkg:binaryData>iVBORw0KGgo=</pkg:binaryData></pkg:part></pkg:package>`
