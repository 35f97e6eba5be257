package report

import (
	"encoding/json"
	"errors"
	"io"
)

// SchemaVersion is the version of the JSON form of a campaign. It changes when a field
// goes or changes its meaning, not when one is added.
const SchemaVersion = 1

// JSON writes a campaign as one JSON object on one line, with the version of its schema.
// Text that is not UTF-8 is mended.
func JSON(w io.Writer, c *Campaign) error {
	if c == nil {
		return errors.New("report: no campaign to write")
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Schema int `json:"schema"`
		*Campaign
	}{SchemaVersion, c})
}
