package xlsx_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzXlsx(f *testing.F) {
	readtest.Parts(f, ".xlsx", "xl/worksheets/sheet1.xml", "xl/workbook.xml")
}
