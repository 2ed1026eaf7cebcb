package main

const stationsCSV = `station;city;country;pump model;commissioned;daily output (m³)
Havnsund;Bergen;Norway;Aurora X2;2019-04-11;12400
Kaltbrunn;St. Gallen;Switzerland;Aurora X2;2020-09-30;8150
Porto Lume;Genoa;Italy;Borealis 40;2017-06-02;21900
Sierra Clara;Málaga;Spain;Borealis 40;2018-01-19;17350
"Vell, Old Harbour";Tallinn;Estonia;Aurora X1;2011-11-05;4020
`

const incidentsJSON = `{
  "title": "Incident register 2025",
  "owner": "Operations desk, Havnsund",
  "policy": {
    "severe_response_minutes": 20,
    "review_within_days": 5,
    "escalation": ["shift lead", "duty engineer", "Ingrid Solberg"]
  },
  "incidents": [
    {"id": "INC-1041", "station": "Havnsund", "cause": "impeller seal failure", "downtime_hours": 6.5, "resolved": true},
    {"id": "INC-1042", "station": "Porto Lume", "cause": "lightning strike on the control cabinet", "downtime_hours": 31, "resolved": true},
    {"id": "INC-1043", "station": "Kaltbrunn", "cause": "frozen intake screen", "downtime_hours": 2.25, "resolved": false,
     "notes": {"next_step": "install trace heating", "budget_eur": 4800}}
  ]
}
`

const eventsJSONL = `{"time": "2025-03-02T06:14:00Z", "station": "Havnsund", "event": "vibration alarm", "value": "7.1 mm/s"}
{"time": "2025-03-02T06:31:00Z", "station": "Havnsund", "event": "pump 2 stopped by operator", "operator": "T. Aas"}
{"time": "2025-03-04T22:05:00Z", "station": "Sierra Clara", "event": "filter backwash", "duration_minutes": 18}
`

const installationMD = `---
title: Installing the Aurora X2
author: Field Engineering
language: en
---

# Installing the Aurora X2

The pump ships on a **reinforced pallet** and weighs 184 kg without coupling.

## Before you start

- Check that the floor carries at least 900 kg/m².
- Keep 60 cm free on the service side.
  - The cable entry counts as part of the service side.
- Read the [safety sheet](https://example.com/safety/aurora-x2) first.

## Torque of the flange bolts

| Flange | Bolt | Torque |
|--------|------|--------|
| DN 80  | M16  | 110 Nm |
| DN 100 | M16  | 125 Nm |
| DN 150 | M20  | 240 Nm |

## First start

1. Open the suction valve completely.
2. Vent the housing until water runs without bubbles.
3. Start the controller in service mode:

` + "```sh\nauroractl start --mode service --ramp 45s\n```" + `

The green light must burn within 90 seconds; otherwise error code **E-17** is shown.
`

const supportHTML = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Support for Aurora pumps – Nordlys Pumps</title>
<style>body { font-family: sans-serif }</style></head>
<body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/products">Products</a></li><li><a href="/jobs">Jobs</a></li></ul></nav>
<main><article>
<h1>Support for Aurora pumps</h1>
<p>Our support team in Bergen answers calls from six in the morning until ten at night, Central European Time, on every
day of the year except the seventeenth of May. Customers with a Platinum contract reach a duty engineer around the clock
and have a technician on site within eight hours anywhere in Scandinavia.</p>
<h2>How to reach us</h2>
<p>Write to support@nordlys-pumps.example or call +47 55 00 17 29. Please have the serial number at hand: it is engraved on
the left side of the motor housing and starts with the letters NLX.</p>
<h2>Spare parts</h2>
<p>Spare parts are kept in stock for at least fifteen years after the last pump of a series has left the factory. The most
common parts are sent on the day of the order.</p>
<table>
<tr><th>Part</th><th>Number</th><th>Delivery</th></tr>
<tr><td>Impeller seal kit</td><td>NLX-2207</td><td>same day</td></tr>
<tr><td>Bearing cartridge</td><td>NLX-2311</td><td>two days</td></tr>
<tr><td>Controller board rev. C</td><td>NLX-2498</td><td>three weeks</td></tr>
</table>
<h2>Reset of the controller</h2>
<p>When the display shows E-17, reset the controller with this command and wait for the green light:</p>
<pre><code>auroractl reset --code E-17
auroractl status</code></pre>
<ul><li>A reset keeps the operating hours.</li><li>Three resets within one hour lock the controller.</li></ul>
</article></main>
<footer><p>© Nordlys Pumps AS. <a href="/privacy">Privacy</a></p></footer>
<script>console.log("tracking")</script>
</body></html>
`

const travelDE = "Richtlinie für Reisekosten\r\n\r\n" +
	"Für Dienstreisen innerhalb Europas gilt die Bahn als übliches Verkehrsmittel. Flüge sind nur erlaubt, wenn die\r\n" +
	"Fahrzeit mit der Bahn mehr als sieben Stunden beträgt.\r\n\r\n" +
	"Das Tagegeld beträgt 38 € im Inland und 52 € im Ausland. Belege müssen spätestens 21 Tage nach der Rückkehr bei\r\n" +
	"Frau Grünwald in der Buchhaltung eingereicht werden; später eingehende Anträge werden nicht berücksichtigt.\r\n\r\n" +
	"Übernachtungen werden bis höchstens 140 € je Nacht erstattet. Größere Beträge genehmigt die Geschäftsführung.\r\n"

const serviceJA = "保守契約について\r\n\r\n" +
	"オーロラX2ポンプの保守契約は、年間料金が十八万円です。契約期間は三年間で、自動的に更新されます。\r\n\r\n" +
	"故障の連絡を受けてから四時間以内に、技術者が大阪の支店から出発します。連絡先は田中健一です。\r\n\r\n" +
	"契約を解約する場合は、契約期間が終わる六十日前までに書面で通知してください。\r\n"

const historyFR = `Histoire de la maison Nordlys

La société Nordlys Pumps a été fondée en 1987 à Bergen par les sœurs Astrid et Liv Halvorsen, dans un ancien hangar à
poissons du quartier de Sandviken.

La première pompe, appelée « Aurore », n'a été construite qu'à douze exemplaires. L'un d'eux fonctionne encore
aujourd'hui au musée maritime de Saint-Malo.

En 2004, l'entreprise a ouvert à Lyon son seul centre d'essais hors de Norvège ; il emploie trente-quatre personnes.
`
