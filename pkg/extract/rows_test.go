package extract

import "testing"

func TestHeaderRowsAreFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rows      [][]string
		at, depth int
	}{
		"the first row names the columns":          {[][]string{{"name", "age"}, {"Ann", "31"}}, 0, 1},
		"titles above the header are passed":       {[][]string{{"Staff"}, {"name", "age"}, {"Ann", "31"}}, 1, 1},
		"a first row with numbers is data":         {[][]string{{"Ann", "31"}, {"Ben", "29"}}, -1, 0},
		"years are names":                          {[][]string{{"", "2023", "2024"}, {"sales", "1", "2"}}, 0, 1},
		"one name for all is no header":            {[][]string{{"a", "a"}, {"b", "c"}}, -1, 0},
		"names may stand twice":                    {[][]string{{"item", "amount", "item", "amount"}, {"oil", "1", "gas", "2"}}, 0, 1},
		"a single column has no header":            {[][]string{{"a"}, {"b"}}, -1, 0},
		"a header without rows below is no header": {[][]string{{"a", "b"}}, -1, 0},
		"words that come again below are values":   {[][]string{{"Ann", "Oslo"}, {"Ben", "Rome"}, {"Cem", "Oslo"}, {"Dana", "Oslo"}}, -1, 0},
		"groups of columns have a row above": {[][]string{{"", "2023", "", "2024"}, {"Region", "Q1", "Q2", "Q1"},
			{"North", "1", "2", "3"}, {"South", "4", "5", "6"}}, 0, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if at, depth := headerRows(tt.rows); at != tt.at || depth != tt.depth {
				t.Errorf("headerRows = %d, %d; want %d, %d", at, depth, tt.at, tt.depth)
			}
		})
	}
}
