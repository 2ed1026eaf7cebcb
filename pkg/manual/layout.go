package manual

import "html/template"

// layout is the frame of every page. The navigation comes after the text, so that narrow windows and screen readers
// start with the content. Wide windows show it at the side.
var layout = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} · Sluice</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/manual.css">
<script src="/docs/manual.js" defer></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header>
<a class="brand" href="/docs">Sluice <span>documentation</span></a>
<search id="search" hidden>
<label class="unseen" for="query">Search the documentation</label>
<input id="query" type="search" placeholder="Search" autocomplete="off" spellcheck="false" maxlength="100">
<p id="count" class="unseen" role="status"></p>
<ul id="found" hidden></ul>
</search>
<nav aria-label="Service"><a class="narrow" href="#pages">Pages</a> <a href="/docs/api">API</a> <a href="/">Console</a></nav>
</header>
<div class="frame">
<main id="text" tabindex="-1">
{{.Text}}
<footer><p><a href="/docs/{{.Source}}">This page as Markdown</a></p></footer>
</main>
<nav id="pages" class="pages" aria-label="Pages">
{{range .Navigation}}<h2>{{.Title}}</h2>
<ul>
{{range .Links}}<li><a href="{{.At}}"{{if .Here}} aria-current="page"{{end}}>{{.Title}}</a></li>
{{end}}</ul>
{{end}}</nav>
{{if .Headings}}<nav class="headings" aria-label="On this page">
<h2>On this page</h2>
<ul>
{{range .Headings}}<li><a href="{{.At}}">{{.Title}}</a></li>
{{end}}</ul>
</nav>{{end}}
</div>
</body>
</html>
`))
