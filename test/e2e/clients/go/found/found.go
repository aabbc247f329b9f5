// Package found keeps what a client made of the gateway, and prints it as one JSON object.
package found

import (
	"encoding/json"
	"fmt"
	"os"
)

// Rows is what was found, by row.
type Rows map[string]any

// Try runs a row and keeps what it returns, or how it failed.
func (rows Rows) Try(name string, row func() (any, error)) {
	value, err := row()
	if err != nil {
		value = fmt.Sprintf("%T: %v", err, err)
	}
	rows[name] = value
}

// Print writes all rows to standard output.
func (rows Rows) Print() {
	if err := json.NewEncoder(os.Stdout).Encode(rows); err != nil {
		panic(err)
	}
}
