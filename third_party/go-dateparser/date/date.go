// Package date holds the result of parsing a date.
package date

import "time"

// Date is a point in time that was found in a text.
type Date struct {
	Time time.Time
}
