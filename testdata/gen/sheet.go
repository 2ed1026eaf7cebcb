package main

import (
	"fmt"
	"strings"
)

// sheetXML returns rows of text and numbers as a worksheet.
func sheetXML(rows [][]any) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<worksheet xmlns="%s"><sheetData>`, sheetN)
	for i, row := range rows {
		fmt.Fprintf(&b, `<row r="%d">`, i+1)
		for j, v := range row {
			ref := fmt.Sprintf("%c%d", 'A'+j, i+1)
			switch v := v.(type) {
			case string:
				fmt.Fprintf(&b, `<c r="%s" t="inlineStr"><is><t>%s</t></is></c>`, ref, v)
			case int:
				fmt.Fprintf(&b, `<c r="%s"><v>%d</v></c>`, ref, v)
			}
		}
		b.WriteString("</row>")
	}
	b.WriteString("</sheetData></worksheet>")
	return b.String()
}

// pricesXlsx returns a workbook with two sheets. The first one has a title row above the header row.
func pricesXlsx() ([]byte, error) {
	prices := sheetXML([][]any{
		{"Price list, valid from 1 July 2025"},
		{"Article", "Description", "Price (EUR)", "Delivery (weeks)"},
		{"NLX-X1", "Aurora X1 pump, 37 kW", 18400, 4},
		{"NLX-X2", "Aurora X2 pump, 55 kW", 26750, 6},
		{"NLX-B40", "Borealis 40 pump, 110 kW", 61300, 14},
		{"NLX-2207", "Impeller seal kit", 412, 0},
	})
	discounts := sheetXML([][]any{
		{"Customer group", "Discount (%)"},
		{"Municipal waterworks", 12},
		{"Fire brigades", 18},
		{"Resellers", 25},
	})
	return container([]part{
		types("xl/workbook.xml", "spreadsheetml.sheet.main+xml", "xl/worksheets/sheet1.xml", "spreadsheetml.worksheet+xml",
			"xl/worksheets/sheet2.xml", "spreadsheetml.worksheet+xml"),
		relations("_rels/.rels", "officeDocument", "xl/workbook.xml"),
		{"xl/workbook.xml", fmt.Sprintf(`<workbook xmlns="%s" xmlns:r="%s"><sheets><sheet name="Prices" sheetId="1" r:id="rId1"/><sheet name="Discounts" sheetId="2" r:id="rId2"/></sheets></workbook>`,
			sheetN, strings.TrimSuffix(docRel, "/"))},
		relations("xl/_rels/workbook.xml.rels", "worksheet", "worksheets/sheet1.xml", "worksheet", "worksheets/sheet2.xml"),
		{"xl/worksheets/sheet1.xml", prices},
		{"xl/worksheets/sheet2.xml", discounts},
	})
}
